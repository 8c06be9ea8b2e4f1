/** Links are cut, fall silent, and lose what the server has said. */
import type { Member } from "../crew.ts";
import type { Acknowledged, Wire } from "../wire.ts";
import type { Fault, Scene } from "./fault.ts";

/** One member's wire, or now and then the one of those who send. */
function onWire(
  name: string,
  weight: number,
  inflict: (wire: Wire, scene: Scene) => Promise<string | undefined>,
): Fault {
  return {
    name,
    weight,
    async inflict(scene) {
      const victim = scene.random.chance(0.2) ? scene.producers : await scene.takeMember();
      const did = victim && (await inflict(victim.wire, scene));
      return did && `${victim.name}: ${did}`;
    },
  };
}

/** How long a certain statement is waited for: on a busy machine a worker may send none for seconds. */
const MOST_WATCH_MS = 10_000;

function loseAcknowledgement(statement: Acknowledged, weight: number): Fault {
  return {
    name: `acknowledgement of a ${statement} lost`,
    weight,
    async inflict(scene) {
      const member =
        statement === "send"
          ? scene.producers
          : await scene.takeMember(({ sendsItself }) => statement !== "node end" || !sendsItself);
      if (member === undefined) return undefined;
      const { wire, name } = member;
      const before = wire.lost[statement];
      wire.loseNext(statement);
      const isLost = await scene.until(() => wire.lost[statement] > before, MOST_WATCH_MS);
      wire.calm();
      return isLost ? name : undefined;
    },
  };
}

export const networkFaults: readonly Fault[] = [
  onWire("all links cut", 2, async ({ proxy }) => {
    proxy.cutAll();
    return "at once";
  }),
  onWire("a link cut at a statement", 3, async (wire, { random, until }) => {
    const place = random.pick(["before", "after"] as const);
    const before = wire.cuts();
    wire.cutNext(place);
    const isCut = await until(() => wire.cuts() > before, MOST_WATCH_MS);
    wire.calm();
    return isCut ? `${place} it arrived` : undefined;
  }),
  onWire("a network that is silent for a while", 2, async ({ proxy }, { random, hold }) => {
    const ms = random.between(500, 6_000);
    proxy.fallSilent();
    await hold(ms);
    proxy.speak();
    return `for ${ms} ms`;
  }),
  // The server sees its sessions end; the worker that held them lives, and cannot say so.
  onWire("cut off for a while", 3, async ({ proxy }, { random, hold }) => {
    const ms = random.between(3_000, 6_000);
    proxy.cutAll();
    proxy.fallSilent();
    await hold(ms);
    proxy.speak();
    return `for ${ms} ms`;
  }),
  onWire("a network that swallows everything", 1, async ({ proxy }, { random, hold }) => {
    const ms = random.between(500, 4_000);
    proxy.swallow();
    await hold(ms);
    proxy.speak();
    proxy.cutAll(); // nothing comes through the old links any more, and nobody has to find that out
    return `for ${ms} ms`;
  }),
  loseAcknowledgement("finish", 4),
  loseAcknowledgement("claim", 3),
  loseAcknowledgement("send", 2),
];

/** Where workflows run. */
export const runNetworkFaults: readonly Fault[] = [loseAcknowledgement("node end", 4)];

/** On the worker that fires the next schedule, whichever it is, also if it has another fault. */
function onFiring(
  name: string,
  weight: number,
  breakIt: (member: Member) => "none" | "cut after",
): Fault {
  return {
    name,
    weight,
    async inflict({ crew, until }) {
      let victim: Member | undefined;
      for (const member of crew.members) {
        member.wire.onNextFiring(() => {
          if (victim !== undefined) return "none";
          victim = member;
          return breakIt(member);
        });
      }
      await until(() => victim !== undefined, MOST_WATCH_MS);
      await victim?.ready();
      return victim?.name;
    },
  };
}

/** Where schedules fire. */
export const operateNetworkFaults: readonly Fault[] = [
  onFiring("a scheduler killed while it fires", 2, ({ process }) => {
    process.kill("SIGKILL");
    return "none";
  }),
  onFiring("a scheduler cut off while it fires", 2, () => "cut after"),
];
