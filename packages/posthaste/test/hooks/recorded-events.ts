/** Hooks that record every event, in order. */
import { hookKinds, type EventName } from "../../src/define/hooks.ts";
import type { Hooks } from "../../src/index.ts";

export interface RecordedEvent {
  readonly event: EventName;
  readonly id?: string;
  readonly name?: string;
  readonly [field: string]: unknown;
}

export interface RecordedEvents {
  readonly hooks: Hooks;
  readonly events: readonly RecordedEvent[];
  /** The names of the events about one task. */
  readonly about: (id: string) => string[];
}

export function recordEvents(): RecordedEvents {
  const events: RecordedEvent[] = [];
  const hooks = Object.fromEntries(
    Object.entries(hookKinds).flatMap(([event, kind]) =>
      kind === "is told"
        ? [[event, (told: object) => void events.push({ event: event as EventName, ...told })]]
        : [],
    ),
  );
  return {
    hooks,
    events,
    about: (id) => events.filter((event) => event.id === id).map(({ event }) => event),
  };
}
