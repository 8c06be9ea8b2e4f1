/** Every step is taken by the tables and by the model, and both must agree. */
import { expect } from "vitest";
import type { CrashDecision } from "../../src/domain/crash-policy.ts";
import type { RecoveryCause } from "../../src/domain/interruption.ts";
import type { Connection } from "../../src/store/connection.ts";
import type { ClaimReply, ClaimRequest } from "../../src/store/queries/claim/claim-tasks.ts";
import type { RecoveryCriteria } from "../../src/store/queries/recover/recovery-causes.ts";
import { sql, statement } from "../../src/store/sql.ts";
import type { Store } from "../../src/store/store.ts";
import { FIRST_PAGE, recovery } from "../store/recovery-steps.ts";
import { sendHeartbeat } from "../store/send-heartbeat.ts";
import { LifecycleModel, type End, type IssuedClaim, type ModelRow } from "./lifecycle-model.ts";
import { ANY_WORKER, CAUSES, WORKERS, type Who, type Wish } from "./lifecycle-wishes.ts";
import { passTime, STEP_MS } from "./stored-rows.ts";

/** Below a step, and longer than a run takes. The server must have been up for it. */
export const THRESHOLD_MS = 5_000;
const THRESHOLD = THRESHOLD_MS / STEP_MS;
const LEASE = 3;
const HOUR = 3_600_000 / STEP_MS;
const QUEUE = "q";

/** A verdict, as it was when it was reached. */
interface Judgement {
  readonly criteria: RecoveryCriteria;
  readonly found: readonly IssuedClaim[];
}

const BURY = statement(sql`
  update posthaste.workers set state = 'dead', died_at = statement_timestamp() where worker_id = $1 and state <> 'dead'`);

export class Lifecycle {
  readonly model = new LifecycleModel();
  readonly #store: Store;
  readonly #db: Connection;
  readonly #sent: string[] = [];
  readonly #judgements: Judgement[] = [];
  readonly #note: (what: string) => void;

  /** @param note called with the name of each step that happened, so that a test can check its coverage */
  constructor(store: Store, db: Connection, note: (what: string) => void) {
    this.#store = store;
    this.#db = db;
    this.#note = note;
  }

  async begin(): Promise<void> {
    for (const workerId of WORKERS.slice(0, 2)) {
      await this.#store.registerWorker.register(this.#db, { workerId, ...ANY_WORKER });
      this.model.workers.set(workerId, { isDead: false, heard: 0, died: null });
    }
  }

  async take(wish: Wish): Promise<void> {
    switch (wish.do) {
      case "send":
        return this.#send(wish.delay, wish.good);
      case "claim": {
        const { isAhead, limit } = wish;
        const request = this.#request(wish.worker, limit);
        const claimTasks = isAhead ? this.#store.prefetch : this.#store.claimAndStart;
        const reply = await claimTasks(this.#db, request);
        return this.#claimed(reply, request, isAhead ? LEASE : null);
      }
      case "start":
        return this.#start(this.#claimOf(wish.who, "CLAIMED"));
      case "heartbeat":
        return this.#heartbeat(this.#claimOf(wish.who), wish.isMistaken);
      case "settle":
        return this.#settle(this.#claimOf(wish.who, "RUNNING"), wish.end);
      case "complete and claim":
        return this.#completeAndClaim(this.#claimOf(wish.who, "RUNNING"), wish.worker);
      case "cancel": {
        const id = latest(this.#sent, wish.nth);
        if (id === undefined) return;
        const answer = this.model.cancel(id);
        expect(await this.#store.cancelTask(this.#db, id)).toBe(answer);
        return this.#note(`cancel: ${answer}`);
      }
      case "retry":
        return this.#retry(latest(this.#sent, wish.nth));
      case "hear":
        return this.#hear(WORKERS[wish.worker] ?? "");
      case "bury":
        return this.#bury(WORKERS[wish.worker] ?? "");
      case "judge":
        return this.#judge(wish.who);
      case "recover":
        if (!wish.isLate) await this.#judge(wish.who);
        return this.#recover(wish.nth, wish.decision);
      case "expire": {
        const late = [...this.model.rows].flatMap(([id, row]) =>
          row.status === "PENDING" && this.model.isLate(row) ? [id] : [],
        );
        const expired = await this.#store.expireTasks(this.#db, 100);
        expect(expired.sort()).toEqual(late.sort());
        for (const id of late) this.model.expire(id);
        if (late.length > 0) this.#note("expired in the line");
        return;
      }
      case "tick":
        this.model.now += wish.steps;
        return passTime(this.#db, wish.steps);
      case "prune": {
        const { pruned } = await this.#store.pruneRecords.tasks(this.#db, {
          hours: [1, 1],
          most: 100,
          from: null,
        });
        expect(pruned).toBe(this.model.prune(HOUR));
        if (pruned > 0) this.#note("pruned");
        return;
      }
    }
  }

  async #send(delay: number, good: number | null): Promise<void> {
    const number = String(this.#sent.length + 1).padStart(12, "0");
    const id = `00000000-0000-4000-8000-${number}`;
    this.#sent.push(id);
    const task = {
      id,
      name: "some-task",
      queue: QUEUE,
      priority: 100,
      input: {},
      delay_ms: delay * STEP_MS,
      good_until: good === null ? null : new Date(Date.now() + good * STEP_MS).toISOString(),
    };
    await this.#store.insertTasks.fresh(this.#db, JSON.stringify([task]));
    this.model.send(id, delay, good === null ? null : this.model.now + good);
  }

  async #retry(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const { id: action } = await this.#store.operatorActions.begin(this.#db, { action: "retry" });
    const request = { ids: [id], goodUntil: null, action };
    const answer = this.model.retry(id);
    expect(await this.#store.retryTasks(this.#db, request)).toEqual([{ id, answer }]);
    this.#note(`retryEnded: ${answer ?? "pruned"}`);
  }

  #request(worker: number, limit: number): ClaimRequest {
    const lanes = [{ queue: QUEUE, priority: 100, mark: -Infinity }];
    return { lanes, limit, workerId: WORKERS[worker] ?? "", leaseMs: LEASE * STEP_MS };
  }

  /** Which of two that became due at the same step comes first is not the model's to say; all else is. */
  #claimed(reply: ClaimReply, { limit, workerId }: ClaimRequest, lease: number | null): void {
    const due = this.model.due();
    const taken = [...reply.tasks.map(({ id }) => id), ...reply.expired];
    expect(taken).toHaveLength(Math.min(limit, due.length));
    const dues = taken.map((id) => this.model.row(id).due).sort((a, b) => a - b);
    expect(dues).toEqual(due.slice(0, limit).map(([, row]) => row.due));
    for (const id of taken) expect(due.map(([each]) => each)).toContain(id);
    for (const id of reply.expired) {
      expect(this.model.isLate(this.model.row(id))).toBe(true);
      this.model.expire(id);
    }
    for (const task of reply.tasks) {
      expect(this.model.isLate(this.model.row(task.id))).toBe(false);
      this.model.claim(task, workerId, lease);
    }
  }

  async #start(claim: IssuedClaim | undefined): Promise<void> {
    if (claim === undefined) return;
    const reply = await this.#store.startTasks(this.#db, [claim]);
    const said =
      reply.started.length > 0 ? "started" : reply.expired.length > 0 ? "expired" : "refused";
    expect(said).toBe(this.model.start(claim));
    this.#note(`start: ${said}`);
  }

  /** @param isMistaken a moment ago the claim was, or will be, of the other role */
  async #heartbeat(claim: IssuedClaim | undefined, isMistaken: boolean): Promise<void> {
    if (claim === undefined) return;
    const isOnlyClaimed = this.model.held(claim)?.status === "CLAIMED";
    const role = isOnlyClaimed !== isMistaken ? "claimer" : "runner";
    const heartbeat = { role, leaseMs: LEASE * STEP_MS } as const;
    const heard = await sendHeartbeat(this.#store, this.#db, [claim], heartbeat);
    const isHeard = this.model.heartbeat(claim, role, LEASE);
    expect(heard.size).toBe(isHeard ? 1 : 0);
    this.#note(`heartbeat as ${role}: ${isHeard ? "heard" : "refused"}`);
  }

  /** A CLAIMED task can only be released: its worker knows that the handler has not begun. */
  async #settle(claim: IssuedClaim | undefined, wish: End): Promise<void> {
    if (claim === undefined) return;
    const isOnlyClaimed = this.model.held(claim)?.status === "CLAIMED";
    const { edge, delay } = isOnlyClaimed ? { ...wish, edge: "release" as const } : wish;
    const ran = edge === "release" ? false : edge === "fail" || edge === "retry" ? wish.ran : true;
    const error = '{"code":"BROKEN","message":"it broke"}';
    const settled = { ...claim, edge, ran, error, code: "BROKEN", delayMs: delay * STEP_MS };
    const reply = await this.#store.settleTasks(this.#db, [settled]);
    const isAccepted = this.model.settle(claim, { edge, ran, delay });
    expect(reply.settled).toBe(isAccepted ? 1 : 0);
    this.#note(`${edge}: ${isAccepted ? this.model.row(claim.id).status : "refused"}`);
    await this.#askWhose(claim);
  }

  async #completeAndClaim(claim: IssuedClaim | undefined, worker: number): Promise<void> {
    if (claim === undefined) return;
    if (this.model.held(claim)?.status === "CLAIMED") return;
    const request = this.#request(worker, 1);
    const ended = [{ ...claim, edge: "succeed", ran: true } as const];
    const reply = await this.#store.completeAndClaim(this.#db, ended, request);
    const isAccepted = this.model.settle(claim, { edge: "succeed", ran: true, delay: 0 });
    expect(reply.settle.settled).toBe(isAccepted ? 1 : 0);
    this.#note(`complete and claim: ${isAccepted ? "accepted" : "refused"}`);
    this.#claimed(reply.claim, request, null);
    await this.#askWhose(claim);
  }

  async #askWhose(claim: IssuedClaim): Promise<void> {
    const own = await this.#store.findOwnCommits(this.#db, [claim]);
    expect(own.get(claim.id)).toBe(this.model.ownCommit(claim));
  }

  async #hear(workerId: string): Promise<void> {
    const beat = { workerId, key: null, loopBlockedMs: 0, leading: "no" } as const;
    const { state } = await this.#store.liveness.beat(this.#db, beat);
    const known = this.model.workers.get(workerId);
    const isRefused = known === undefined || known.isDead;
    expect(state === null).toBe(isRefused);
    if (known !== undefined && !isRefused) known.heard = this.model.now;
  }

  async #bury(workerId: string): Promise<void> {
    await this.#db.query(BURY, [workerId]);
    const known = this.model.workers.get(workerId);
    if (known?.isDead === false) Object.assign(known, { isDead: true, died: this.model.now });
  }

  async #judge(whose: Who): Promise<void> {
    const claim = this.#claimOf(whose);
    for (const cause of CAUSES) {
      const criteria = criteriaOf(cause, claim);
      const found = await this.#store.recoverTasks.find(this.#db, criteria, FIRST_PAGE);
      const expected = [...this.model.rows.keys()].filter((id) => this.#isMeant(id, criteria));
      expect({ cause, found: found.map(({ id }) => id) }).toEqual({ cause, found: expected });
      const claims = found.map(({ id, claimId }) => ({ id, claimId }));
      if (claims.length > 0) this.#judgements.push({ criteria, found: claims });
    }
  }

  /** Applies any earlier judgement, however old: the statement checks its criteria again. */
  async #recover(which: number, wish: CrashDecision): Promise<void> {
    const judgement = latest(this.#judgements, which);
    if (judgement === undefined) return;
    const { criteria, found } = judgement;
    const decided = found.map((claim) => ({ claim, decision: this.#ruled(claim, wish) }));
    const expected = decided.filter(
      ({ claim }) => this.model.held(claim) !== undefined && this.#isMeant(claim.id, criteria),
    );
    const applied = await this.#store.recoverTasks.apply(
      this.#db,
      criteria,
      decided.map(({ claim, decision: what }) => recovery(claim, what)),
      "tester",
    );
    expect(applied.map(({ claimId }) => claimId)).toEqual(
      expected.map(({ claim }) => claim.claimId),
    );
    this.#note(`recover, ${criteria.cause}: ${expected.length > 0 ? "applied" : "refused"}`);
    for (const { claim, decision: what } of expected) {
      this.model.recover(claim, what, criteria.cause === "shutdown", STEP_MS);
      this.#note(`recovered: ${what.decision}, ${this.model.row(claim.id).status}`);
    }
  }

  /** A task that has not begun is released. */
  #ruled(claim: IssuedClaim, wish: CrashDecision): CrashDecision {
    return this.model.held(claim)?.status === "CLAIMED" && wish.decision === "requeue"
      ? { decision: "release" }
      : wish;
  }

  #isMeant(id: string, criteria: RecoveryCriteria): boolean {
    const isNamed =
      !("claims" in criteria) ||
      criteria.claims.some((claim) => claim.id === id && this.model.held(claim) !== undefined);
    return isNamed && this.model.isRecoverable(id, criteria.cause, THRESHOLD);
  }

  /** @param turn the status in which it is that claim's turn to do this */
  #claimOf({ nth: which, isAny }: Who, turn?: ModelRow["status"]): IssuedClaim | undefined {
    const { claims } = this.model;
    const fitting = claims.filter((claim) => {
      const row = this.model.held(claim);
      return row !== undefined && (turn === undefined || row.status === turn);
    });
    return latest(isAny || fitting.length === 0 ? claims : fitting, which);
  }
}

function criteriaOf(cause: RecoveryCause, claim: IssuedClaim | undefined): RecoveryCriteria {
  if (cause === "shutdown" || cause === "worker cut off" || cause === "claim unknown")
    return { cause, claims: claim === undefined ? [] : [claim] };
  if (cause === "lease expired") return { cause };
  return { cause, thresholdMs: THRESHOLD_MS, multiplier: 1, flags: [] };
}

function latest<Item>(items: readonly Item[], nth: number): Item | undefined {
  return items.length === 0 ? undefined : items[items.length - 1 - (nth % items.length)];
}
