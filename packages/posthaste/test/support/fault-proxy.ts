/** A TCP proxy that breaks links on purpose, in ways a network, a server or a pooler does. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { errorResponse, fatalResponse } from "./wire-errors.ts";

/** What happens to a chunk of bytes on its way; decided anew for each. */
export type Fault =
  | "none"
  /** The link is reset and the chunk never arrives: on its way back, that is an acknowledgement lost after COMMIT. */
  | "cut before"
  /** The chunk arrives, then the link is reset. */
  | "cut after"
  /** The link stays open; neither the chunk nor anything behind it, on either side, arrives any more. */
  | "hang before"
  /** The same behind the chunk. */
  | "hang after"
  /** So many bytes of the chunk arrive, then the link is reset. */
  | { readonly cutAt: number }
  /** These bytes arrive instead of the chunk. */
  | { readonly instead: Buffer }
  /** The chunk, and what comes behind it, arrives so much later. */
  | { readonly delayMs: number }
  /** Instead of the server, the proxy answers with this SQLSTATE; each statement of the chunk gets the error. */
  | { readonly error: string }
  /** The same, as the last word on this link: it is closed behind it. */
  | { readonly fatal: string };

type Refusal = Extract<Fault, { readonly error: string } | { readonly fatal: string }>;

/** `link` counts the links from 0; `bytes` is what the chunk holds, for a fault that waits for a certain statement. */
export type Decide = (bytes: Buffer, link: number) => Fault;

export interface FaultProxyOptions {
  readonly target: { readonly host: string; readonly port: number };
  readonly toServer: Decide;
  readonly toClient: Decide;
}

export interface FaultProxy {
  readonly port: number;
  /** Links that were broken so far, by direction and kind. */
  readonly cuts: Readonly<Record<string, number>>;
  /** Resets every link there is. */
  cutAll(): void;
  /** A black hole: links stay, new ones are accepted, and not a byte passes until `speak`. */
  fallSilent(): void;
  speak(): void;
  /** As a black hole that leaves nothing: every byte on the links there are, and on new ones until `speak`, is lost for good. */
  swallow(): void;
  /** No more faults. */
  heal(): void;
  close(): Promise<void>;
}

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  /** The client has been reset; the server reads what it was sent, and what it answers is lost. */
  isCut: boolean;
  /** Stays open, and nothing comes through any more. */
  isSwallowing: boolean;
}

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const cuts: Record<string, number> = {};
  const links = new Set<Link>();
  let opened = 0;
  let isHealed = false;
  let isSilent = false;
  let isSwallowing = false;

  const count = (kind: string): void => {
    cuts[kind] = (cuts[kind] ?? 0) + 1;
  };
  const reset = (link: Link): void => {
    link.isCut = true;
    link.client.resetAndDestroy();
    link.upstream.end(); // a FIN behind the bytes that were sent: the server executes what it got
  };

  const server = createServer((client) => {
    const number = opened++;
    const link = { client, upstream: connect(options.target), isCut: false, isSwallowing };
    links.add(link);
    client.on("close", () => (link.isCut ? undefined : link.upstream.destroy()));
    link.upstream.on("close", () => {
      links.delete(link);
      client.destroy();
    });
    const pump = (from: Socket, to: Socket, direction: string, decide: Decide): void => {
      from.setNoDelay();
      from.on("error", () => from.destroy());
      from.on("data", (bytes) => {
        if (link.isCut || link.isSwallowing) return undefined;
        const fault = isHealed ? "none" : decide(bytes, number);
        if (fault !== "none") count(`${direction}, ${nameOf(fault)}`);
        if (fault === "none") return to.write(bytes);
        if (fault === "cut before") return reset(link);
        if (fault === "hang before" || fault === "hang after") {
          link.isSwallowing = true;
          return fault === "hang after" ? to.write(bytes) : undefined;
        }
        if (typeof fault === "object" && "instead" in fault) return to.write(fault.instead);
        if (typeof fault === "object" && "delayMs" in fault) {
          from.pause();
          return setTimeout(() => {
            to.write(bytes);
            from.resume();
          }, fault.delayMs);
        }
        if (typeof fault === "object" && !("cutAt" in fault)) return answer(client, bytes, fault);
        const arriving = fault === "cut after" ? bytes : bytes.subarray(0, fault.cutAt);
        return to.write(arriving, () => reset(link));
      });
    };
    pump(client, link.upstream, "to server", options.toServer);
    pump(link.upstream, client, "to client", options.toClient);
    if (isSilent) pauseLink(link);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cuts,
    cutAll() {
      count("all at once");
      for (const link of links) reset(link);
    },
    fallSilent() {
      count("silent for a while");
      isSilent = true;
      for (const link of links) pauseLink(link);
    },
    swallow() {
      count("swallowed for good");
      isSwallowing = true;
      for (const link of links) link.isSwallowing = true;
    },
    speak() {
      isSilent = false;
      isSwallowing = false;
      for (const { client, upstream } of links) {
        client.resume();
        upstream.resume();
      }
    },
    heal: () => {
      isHealed = true;
    },
    async close() {
      for (const { client, upstream } of links) {
        client.destroy();
        upstream.destroy();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pauseLink({ client, upstream }: Link): void {
  client.pause();
  upstream.pause();
}

function nameOf(fault: Exclude<Fault, "none">): string {
  if (typeof fault === "string") return fault;
  if ("cutAt" in fault) return "cut inside";
  if ("instead" in fault) return "changed";
  if ("delayMs" in fault) return "delayed";
  return "error" in fault ? `answered ${fault.error}` : `answered ${fault.fatal} and closed`;
}

function answer(client: Socket, asked: Buffer, fault: Refusal): void {
  if ("error" in fault) client.write(errorResponse(fault.error, asked));
  else client.end(fatalResponse(fault.fatal));
}
