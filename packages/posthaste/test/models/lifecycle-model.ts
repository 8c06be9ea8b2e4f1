/**
 * What each statement of a task's life must do, written down a second time and without SQL: rows in a map, and time in
 * steps. Claims are never forgotten, so that those who lost theirs go on speaking.
 */
import type { CrashDecision } from "../../src/domain/crash-policy.ts";
import type { RecoveryCause } from "../../src/domain/interruption.ts";
import type { SettlingEdge } from "../../src/store/queries/settle/settle-tasks.ts";

/** A row of whichever table holds it. Instants are steps; what the table does not have is null. */
export interface ModelRow {
  status: "PENDING" | "CLAIMED" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED";
  due: number;
  readonly good: number | null;
  runs: number;
  retries: number;
  crashes: number;
  claimId: string | null;
  workerId: string | null;
  claimed: number | null;
  started: number | null;
  lease: number | null;
  beat: number | null;
  finished: number | null;
  isCancelAsked: boolean;
  code: string | null;
  attempts: { run: number; claimId: string | null; outcome: string }[];
}

export interface ModelWorker {
  isDead: boolean;
  heard: number;
  died: number | null;
}

export interface IssuedClaim {
  readonly id: string;
  readonly claimId: string;
}

export interface End {
  readonly edge: SettlingEdge;
  readonly ran: boolean;
  readonly delay: number;
}

const CANCELLED = { status: "CANCELLED", code: "TASK_CANCELLED" } as const;
const EXPIRED = { status: "EXPIRED", code: "TASK_EXPIRED" } as const;
const UNHELD = {
  claimId: null,
  workerId: null,
  claimed: null,
  started: null,
  lease: null,
  beat: null,
} as const;

export class LifecycleModel {
  readonly rows = new Map<string, ModelRow>();
  readonly workers = new Map<string, ModelWorker>();
  /** All that ever were, oldest first. */
  readonly claims: IssuedClaim[] = [];
  /** Claims that are to be left alone, and until when. */
  readonly skips = new Map<string, number>();
  /** Ends that were taken back, by the claim that wrote them. */
  readonly takenBack = new Map<string, string>();
  now = 0;

  send(id: string, delay: number, good: number | null): void {
    this.rows.set(id, {
      status: "PENDING",
      due: this.now + delay,
      good,
      runs: 0,
      retries: 0,
      crashes: 0,
      ...UNHELD,
      finished: null,
      isCancelAsked: false,
      code: null,
      attempts: [],
    });
  }

  /** Those that a claim may take, earliest first. */
  due(): [id: string, row: ModelRow][] {
    const waiting = [...this.rows].filter(
      ([, { status, due }]) => status === "PENDING" && due <= this.now,
    );
    return waiting.sort(([, a], [, b]) => a.due - b.due);
  }

  claim({ id, claimId }: IssuedClaim, workerId: string, lease: number | null): void {
    const row = this.row(id);
    this.claims.push({ id, claimId });
    Object.assign(row, UNHELD, { claimId, workerId });
    if (lease === null)
      Object.assign(row, { status: "RUNNING", started: this.now, runs: row.runs + 1 });
    else Object.assign(row, { status: "CLAIMED", claimed: this.now, lease: this.now + lease });
  }

  isLate({ good }: ModelRow): boolean {
    return good !== null && good <= this.now;
  }

  expire(id: string): void {
    Object.assign(this.row(id), EXPIRED, { finished: this.now, lease: null, beat: null });
  }

  start(claim: IssuedClaim): "started" | "expired" | "refused" {
    const row = this.held(claim);
    if (row?.status !== "CLAIMED") return "refused";
    if (this.isLate(row)) {
      this.expire(claim.id);
      return "expired";
    }
    Object.assign(row, { status: "RUNNING", started: this.now, runs: row.runs + 1, lease: null });
    return "started";
  }

  heartbeat(claim: IssuedClaim, role: "claimer" | "runner", lease: number): boolean {
    const row = this.held(claim);
    if (row === undefined || (row.status === "CLAIMED") !== (role === "claimer")) return false;
    row.beat = this.now;
    if (role === "claimer") row.lease = this.now + lease;
    return true;
  }

  settle(claim: IssuedClaim, { edge, ran, delay }: End): boolean {
    const row = this.held(claim);
    if (row === undefined) return false;
    const { run, due } = { run: row.runs, due: this.now + delay };
    if (row.started !== null && !ran) row.runs--;
    if (!ran) Object.assign(row, { claimed: row.claimed ?? row.started, started: null });
    const isTooLate = edge === "retry" && row.good !== null && due >= row.good;
    if (row.isCancelAsked) this.#finish(row, CANCELLED);
    else if (edge === "succeed") this.#finish(row, { status: "COMPLETED", code: null });
    else if (edge === "fail" || isTooLate) this.#finish(row, { status: "FAILED", code: "BROKEN" });
    else {
      const outcome = edge === "retry" ? "FAILED" : "INTERRUPTED";
      if (ran && edge !== "release") row.attempts.push({ run, claimId: claim.claimId, outcome });
      Object.assign(row, UNHELD, { status: "PENDING" });
      if (edge === "retry") Object.assign(row, { due, retries: row.retries + 1, crashes: 0 });
    }
    return true;
  }

  /** The answer to a claim that asks whether its end was written: undefined if it was not. */
  ownCommit({ id, claimId }: IssuedClaim): string | undefined {
    const row = this.rows.get(id);
    if (row?.finished !== null && row?.claimId === claimId) return row.status;
    if (row === undefined) return undefined;
    const takenBack = this.takenBack.get(claimId);
    if (takenBack !== undefined) return takenBack;
    const isMine = row.attempts.some(
      (attempt) => attempt.claimId === claimId && attempt.outcome === "FAILED",
    );
    return isMine ? "PENDING" : undefined;
  }

  cancel(id: string): "cancelled" | "requested" | "finished" | null {
    const row = this.rows.get(id);
    if (row === undefined) return null;
    if (row.finished !== null) return "finished";
    row.isCancelAsked = true;
    if (row.status === "RUNNING") return "requested";
    this.#finish(row, CANCELLED, null);
    return "cancelled";
  }

  retry(id: string): "retried" | "unfinished" | "completed" | "late" | null {
    const row = this.rows.get(id);
    if (row === undefined) return null;
    const { status, claimId, runs: run } = row;
    if (row.finished === null) return "unfinished";
    if (status === "COMPLETED") return "completed";
    if (status === "EXPIRED" || this.isLate(row)) return "late";
    if (row.started !== null) row.attempts.push({ run, claimId, outcome: status });
    if (claimId !== null) this.takenBack.set(claimId, status);
    const fresh = { due: this.now, retries: 0, crashes: 0, finished: null };
    const open = { status: "PENDING", isCancelAsked: false, code: null };
    Object.assign(row, UNHELD, fresh, open);
    return "retried";
  }

  /** @param threshold in steps: whatever is older has lasted too long */
  isRecoverable(id: string, cause: RecoveryCause, threshold: number): boolean {
    const row = this.rows.get(id);
    if (row === undefined || row.claimId === null || row.finished !== null) return false;
    const isOld = (instant: number): boolean => this.now - instant > threshold;
    const isSkipped = (this.skips.get(row.claimId) ?? -Infinity) > this.now;
    if (isSkipped && !row.isCancelAsked) return false;
    const worker = this.workers.get(row.workerId ?? "");
    // A start is a sign of life too, whatever was heard before it.
    const sign = Math.max(
      row.beat ?? -Infinity,
      row.started ?? -Infinity,
      row.claimed ?? -Infinity,
    );
    switch (cause) {
      case "worker crashed":
        return worker?.isDead === true && isOld(worker.died ?? 0);
      case "worker silent":
        return worker?.isDead === false && isOld(worker.heard);
      case "worker unknown":
        return worker === undefined && isOld(sign);
      case "claim stale":
        return row.status === "CLAIMED" && isOld(sign);
      case "lease expired":
        return row.status === "CLAIMED" && row.lease !== null && row.lease <= this.now;
      case "run stale":
        return row.status === "RUNNING" && isOld(sign);
      case "shutdown":
      case "worker cut off":
      case "claim unknown":
        return true;
    }
  }

  /** To be asked only of what is recoverable, and of its own claim. */
  recover(claim: IssuedClaim, decided: CrashDecision, isOwner: boolean, stepMs: number): void {
    const row = this.row(claim.id);
    const { decision } = decided;
    const delayMs =
      decision === "requeue" && "delayMs" in decided.due
        ? decided.due.delayMs
        : decision === "retry" || decision === "skip"
          ? decided.delayMs
          : 0;
    if (decision === "skip" && !row.isCancelAsked) {
      this.skips.set(claim.claimId, this.now + delayMs / stepMs);
      return;
    }
    const wasStarted = row.started !== null;
    if (wasStarted && !isOwner) row.crashes++;
    // Without a delay it keeps its place, except where a retry says so.
    const due = delayMs > 0 || decision === "retry" ? this.now + delayMs / stepMs : row.due;
    const isInTime = row.good === null || Math.max(due, this.now) < row.good;
    const isBack =
      decision === "release" || ((decision === "requeue" || decision === "retry") && isInTime);
    const by = isOwner ? claim.claimId : null;
    if (row.isCancelAsked) this.#finish(row, CANCELLED, by);
    else if (!isBack) this.#finish(row, { status: "FAILED", code: "WORKER_CRASHED" }, by);
    else {
      const outcome = isOwner ? "INTERRUPTED" : "WORKER_FAILURE";
      if (wasStarted) row.attempts.push({ run: row.runs, claimId: claim.claimId, outcome });
      if (decision === "retry") row.retries++;
      else if (decision === "requeue") row.retries = decided.retries ?? row.retries;
      Object.assign(row, UNHELD, { status: "PENDING", due });
    }
  }

  /** @param age in steps */
  prune(age: number): number {
    const old = [...this.rows].filter(
      ([, { finished }]) => finished !== null && this.now - finished >= age,
    );
    for (const [id] of old) this.rows.delete(id);
    return old.length;
  }

  /** The row of a claim that is still the one that holds it. */
  held({ id, claimId }: IssuedClaim): ModelRow | undefined {
    const row = this.rows.get(id);
    return row?.claimId === claimId && row.finished === null ? row : undefined;
  }

  row(id: string): ModelRow {
    const row = this.rows.get(id);
    if (row === undefined) throw new Error(`the model knows no task ${id}`);
    return row;
  }

  #finish(
    row: ModelRow,
    end: Pick<ModelRow, "status" | "code">,
    by: string | null = row.claimId,
  ): void {
    Object.assign(row, end, { finished: this.now, claimId: by, lease: null, beat: null });
  }
}
