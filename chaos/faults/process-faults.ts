/** Worker processes are killed, frozen and told to stop. */
import type { Member } from "../crew.ts";
import type { Fault, Scene } from "./fault.ts";

/** On one member that no other fault has. */
function onMember(
  name: string,
  weight: number,
  inflict: (member: Member, scene: Scene) => Promise<string>,
): Fault {
  return {
    name,
    weight,
    async inflict(scene) {
      const member = await scene.takeMember();
      if (member === undefined) return undefined;
      await member.ready();
      return `${member.name}: ${await inflict(member, scene)}`;
    },
  };
}

function freeze(name: string, weight: number, [least, most]: readonly [number, number]): Fault {
  return onMember(name, weight, async ({ process }, scene) => {
    const ms = scene.random.between(least, most);
    process.kill("SIGSTOP");
    await scene.hold(ms);
    process.kill("SIGCONT");
    return `frozen for ${ms} ms`;
  });
}

export const processFaults: readonly Fault[] = [
  onMember("killed", 4, async (member) => {
    const { process } = member;
    process.kill("SIGKILL");
    await process.exited;
    await member.ready();
    return `process ${process.pid}`;
  }),
  freeze("frozen below the thresholds", 2, [200, 900]),
  freeze("frozen beyond the thresholds", 4, [4_500, 7_000]),
  onMember("told to stop", 2, async (member, scene) => {
    const { process } = member;
    process.kill("SIGTERM");
    // Some orchestrators are impatient.
    if (scene.random.chance(0.3)) {
      await scene.hold(scene.random.between(0, 500));
      process.kill("SIGKILL");
    }
    const code = await process.exited;
    await member.ready();
    return `process ${process.pid}, ended with ${code}`;
  }),
  {
    name: "all frozen at once",
    weight: 1,
    isAlone: true,
    async inflict({ crew, random, hold }) {
      const processes = crew.members.map(({ process }) => process);
      const ms = random.between(500, 5_000);
      for (const process of processes) process.kill("SIGSTOP");
      await hold(ms);
      for (const process of processes) process.kill("SIGCONT");
      return `for ${ms} ms`;
    },
  },
];
