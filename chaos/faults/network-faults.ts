/** Links are cut, fall silent, and lose what the server has said. */
import type { Acknowledged, Wire } from "../wire.ts";
import type { Fault, Scene } from "./fault.ts";

/** One member's wire, or now and then the one of those who send. */
function onWire(
  name: string,
  weight: number,
  inflict: (wire: Wire, scene: Scene) => Promise<string>,
): Fault {
  return {
    name,
    weight,
    async inflict(scene) {
      if (scene.random.chance(0.2)) {
        return `producers: ${await inflict(scene.producers.wire, scene)}`;
      }
      const member = scene.takeMember();
      if (member === undefined) return undefined;
      return `${member.name}: ${await inflict(member.wire, scene)}`;
    },
  };
}

/** How long a certain statement is waited for. */
const WATCH_MS = 2_000;

function loseAcknowledgement(statement: Acknowledged, weight: number): Fault {
  return {
    name: `acknowledgement of a ${statement} lost`,
    weight,
    async inflict(scene) {
      const member = statement === "send" ? undefined : scene.takeMember();
      const wire = member?.wire ?? scene.producers.wire;
      const before = wire.lost[statement];
      wire.loseNext(statement);
      await scene.hold(WATCH_MS);
      wire.calm();
      const times = wire.lost[statement] - before;
      return times === 0 ? undefined : (member?.name ?? "producers");
    },
  };
}

export const networkFaults: readonly Fault[] = [
  onWire("all links cut", 2, async ({ proxy }) => {
    proxy.cutAll();
    return "at once";
  }),
  onWire("a link cut at a statement", 3, async (wire, { random, hold }) => {
    const place = random.pick(["before", "after"] as const);
    wire.cutNext(place);
    await hold(WATCH_MS);
    wire.calm();
    return `${place} it arrived`;
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
