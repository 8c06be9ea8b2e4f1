/** Every model in every variant, and what must be found in each. */
export interface Variant {
  readonly model: "claim" | "heartbeats" | "liveness" | "caps" | "joins";
  /** In words. */
  readonly name: string;
  /** What differs from the engine's own way, as the model's file explains it. */
  readonly defines: Readonly<Record<string, number>>;
  /** laws: every assertion, in every state. end: what is promised to happen at last does, if nobody is passed over for ever. */
  readonly asks: "laws" | "end";
  /** Ours holds. A way that is not ours must break a law, and that one, or the model proves nothing. */
  readonly expected: "holds" | "breaks";
  /** A part of the law's text, as it stands in the model. */
  readonly law?: string;
}

type Defines = Variant["defines"];

const holds = (model: Variant["model"], name: string, defines: Defines = {}): Variant => ({
  model,
  name,
  defines,
  asks: "laws",
  expected: "holds",
});

const breaks = (law: string, model: Variant["model"], name: string, defines: Defines): Variant => ({
  ...holds(model, name, defines),
  expected: "breaks",
  law,
});

const endsAtLast = (model: Variant["model"], name: string, defines: Defines = {}): Variant => ({
  ...holds(model, name, defines),
  asks: "end",
});

const neverEnds = (model: Variant["model"], name: string, defines: Defines): Variant => ({
  ...breaks("acceptance cycle", model, name, defines),
  asks: "end",
});

export const variants: readonly Variant[] = [
  holds("claim", "ours, 2 slots, 2 crashes, a cancellation", { CANCELS: 1 }),
  holds("claim", "ours, 3 slots", { CANCELS: 1, SLOTS: 3, CRASHES: 1 }),
  holds("claim", "ours, 2 reapers", { CANCELS: 1, REAPERS: 2, CRASHES: 1 }),
  holds("claim", "ours, an operator takes an end back", {
    CANCELS: 1,
    RETRIES: 1,
    RETURNS: 0,
    CRASHES: 1,
  }),
  breaks("ok==didCommit", "claim", "an end that was taken back is told to nobody", {
    RETRIES: 1,
    TAKEN: 0,
  }),
  endsAtLast("claim", "ours: the task ends at last", { CANCELS: 1 }),
  breaks("ends<=1", "claim", "an end is not fenced", { FENCE: 0 }),
  breaks("claim==mine", "claim", "an end is fenced by the status", { FENCE: 1 }),
  breaks("claim==mine", "claim", "an end is fenced by the worker, of several slots", { FENCE: 2 }),
  holds("claim", "an end is fenced by the worker, of one slot", { FENCE: 2, SHARED: 0 }),
  breaks("place", "claim", "a recovery asks nothing again, and changes an end", {
    RECHECK: 0,
    LAWS: 1,
  }),
  holds("claim", "a recovery asks the status: no end changes", { RECHECK: 1, LAWS: 1 }),
  breaks("claim==judged", "claim", "a recovery asks the status: a claim not judged", {
    RECHECK: 1,
    LAWS: 2,
  }),
  holds("claim", "a recovery asks the claim: none is confused", { RECHECK: 2, LAWS: 2 }),
  breaks("fresh", "claim", "a recovery asks the claim: it was renewed", { RECHECK: 2, LAWS: 3 }),
  breaks("ok==didCommit", "claim", "whose end it was is told by the status", { OWN: 0 }),
  breaks("cancelAsked", "claim", "a return forgets the cancellation", { HEED: 0, CANCELS: 1 }),
  breaks("wasReaped", "claim", "witness: reaped, and finished by another", { WITNESS: 1 }),
  breaks("violated 0", "claim", "witness: an end that is refused", { WITNESS: 2 }),
  breaks("!(ok)", "claim", "witness: a repeated end finds its own commit", { WITNESS: 3 }),

  holds("heartbeats", "ours"),
  endsAtLast("heartbeats", "ours: a dead owner is noticed at last"),
  neverEnds("heartbeats", "by task: a zombie keeps the dead alive", { KEYED: 0 }),
  breaks("dead[claim]", "heartbeats", "a claim inherits the last heartbeat", { START: 0 }),

  holds("liveness", "ours, 3 cuts, 2 freezes, a kill", { CUTS: 3, FREEZES: 2 }),
  endsAtLast("liveness", "ours: the task is done at last", { CUTS: 3, FREEZES: 2 }),
  holds("liveness", "not asked what was heard: the key stands in", { HEARD: 0 }),
  holds("liveness", "not asked for the key: what was heard stands in", { KEY: 0 }),
  breaks("wasLate", "liveness", "asked for neither", { HEARD: 0, KEY: 0 }),
  breaks("wasLate", "liveness", "an old mark is kept, and not asked what was heard", {
    REMARK: 0,
    HEARD: 0,
  }),
  neverEnds("liveness", "an old mark is kept: a death is missed", { REMARK: 0 }),
  neverEnds("liveness", "the same id after the return: tasks are stuck", { NEWID: 0 }),
  breaks("results<=1", "liveness", "an end is not fenced", { FENCE: 0 }),
  breaks("violated 0", "liveness", "witness: somebody is declared dead", { WITNESS: 1 }),
  breaks("violated 0", "liveness", "witness: somebody comes back from the dead", { WITNESS: 2 }),

  holds("caps", "ours, 3 claimers, cap 1"),
  holds("caps", "ours, 4 claimers, cap 2", { CLAIMERS: 4, CAP: 2 }),
  breaks("underWay<=1", "caps", "no lock", { LOCK: 0 }),
  breaks("underWay<=1", "caps", "the lock in the statement that counts", { LOCK: 1 }),
  breaks("underWay<=1", "caps", "the lock given up before the commit", { LOCK: 2 }),
  breaks("underWay<1", "caps", "witness: the cap is reached", { WITNESS: 1 }),

  holds("joins", "ours, 3 crashes, 2 lost acknowledgements", { CRASHES: 3, REPEATS: 2 }),
  holds("joins", "ours, paused and resumed meanwhile", { STEER: 1 }),
  holds("joins", "ours, repaired by two at once, and steered", {
    REPAIR: 1,
    REPAIRERS: 2,
    DAMAGE: 1,
    STEER: 1,
  }),
  holds("joins", "ours, with all of that at once", { REPAIR: 1, STEER: 1, CRASHES: 1 }),
  breaks("tasks==1", "joins", "no lock: both read the counter before either commits", { LOCK: 0 }),
  breaks("tasks==1", "joins", "the lock after the counter was read", { LOCK: 1 }),
  breaks("tasks==1", "joins", "counted anew, with a snapshot older than the lock", { LOCK: 2 }),
  breaks("tasks==1", "joins", "the run goes on behind the end, and who does it dies", {
    ADVANCE: 0,
  }),
  holds("joins", "the same, and the maintenance repairs it", { ADVANCE: 0, REPAIR: 1 }),
  breaks("ended[1]", "joins", "an end that is repeated counts again", { ASKS: 0 }),
  breaks("tasks<=1", "joins", "two repair without the lock", {
    REPAIR: 2,
    REPAIRERS: 2,
    DAMAGE: 1,
  }),
  breaks("tasks==1", "joins", "a repair without the lock, and a resume", {
    REPAIR: 2,
    DAMAGE: 1,
    STEER: 1,
  }),
  breaks("tasks==1", "joins", "a resume without the lock, and an end", { STEER: 2 }),
  breaks("paused", "joins", "a pause without the lock, and an end", { STEER: 3 }),
  breaks("locked==0", "joins", "witness: somebody waits for the lock", { WITNESS: 1 }),
  breaks("locked!=self", "joins", "witness: somebody dies with the lock", { WITNESS: 2 }),
  breaks("violated 0", "joins", "witness: the join is met while the run is paused", {
    WITNESS: 3,
    STEER: 1,
  }),
  breaks("violated 0", "joins", "witness: something is repaired", {
    WITNESS: 4,
    REPAIR: 1,
    DAMAGE: 1,
  }),
];
