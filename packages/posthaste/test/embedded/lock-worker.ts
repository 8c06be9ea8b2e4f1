/** Enters the lock again and again, and in the end dies in it. A second one inside is reported by the exit code 3. */
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { layoutOf } from "../../../embedded/src/layout.ts";
import { withLock } from "../../../embedded/src/lock.ts";

const [root = "", rounds = "0"] = process.argv.slice(2);
const inside = path.join(root, "inside");
const counter = path.join(root, "counter");
for (let round = 1; round <= Number(rounds); round++) {
  await withLock(layoutOf(root), async () => {
    try {
      fs.writeFileSync(inside, "", { flag: "wx" });
    } catch {
      process.exit(3);
    }
    const count = Number(fs.readFileSync(counter, "utf8"));
    await sleep(Math.random() * 2);
    fs.writeFileSync(counter, String(count + 1));
    fs.rmSync(inside);
    if (round === Number(rounds)) process.kill(process.pid, "SIGKILL");
  });
}
