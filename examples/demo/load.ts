/** What the demo sends: a few hundred tasks of every kind of fate. */
import type { TaskHandle } from "posthaste";
import { app, chargeCard, fetchPage, greet, renderReport } from "./app.ts";

export async function sendEverything(): Promise<readonly TaskHandle[]> {
  const soon = (ms: number): Date => new Date(Date.now() + ms);
  const sent: TaskHandle[][] = [
    await app.sendMany(
      greet,
      list(120, (n) => ({ name: `reader ${n}` })),
    ),
    await app.sendMany(
      renderReport,
      list(60, (n) => ({ pages: 3 + (n % 8) })),
    ),
    await app.sendMany(
      chargeCard,
      list(20, (n) => ({ cents: 100 * n })),
    ),
    await app.sendMany(
      fetchPage,
      list(30, (n) => ({ url: `/page/${n}` })),
    ),
    // Due after their deadline: nobody may start them.
    await app.sendMany(
      greet,
      list(15, (n) => ({ name: `too late ${n}` })),
      {
        delayMs: 400,
        goodUntil: soon(200),
      },
    ),
    await app.sendMany(
      greet,
      list(30, (n) => ({ input: { name: `later ${n}` }, delayMs: 1_000 + 50 * n })),
    ),
    await Promise.all(
      list(25, (n) => app.send(greet, { name: `one by one ${n}` }, { priority: 1 })),
    ),
  ];
  const doomed = await app.sendMany(
    greet,
    list(15, (n) => ({ name: `never mind ${n}` })),
    { delayMs: 60_000 },
  );
  for (const handle of doomed) await handle.cancel();
  return [...sent.flat(), ...doomed];
}

function list<Item>(length: number, make: (n: number) => Item): Item[] {
  return Array.from({ length }, (_, n) => make(n));
}
