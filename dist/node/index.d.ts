/// <reference lib="esnext.disposable" />

/** What node:test and Vitest pass to a test function. */
export type TestContext =
  | { after(fn: () => unknown): void; diagnostic(message: string): void; readonly passed?: boolean }
  | { onTestFinished(fn: () => unknown): void; onTestFailed(fn: () => unknown): void };

export interface ServerOptions {
  /** The address to listen on; 127.0.0.1 by default. */
  host?: string;
  /** The port; 0, the default, is a free one. */
  port?: number;
  /** A Unix socket to listen on instead of a port. */
  path?: string;
  /** Directives of zlimit-server, as on its command line: `['--maxmemory', '10mb']`. */
  args?: readonly string[];
  /** Whether DEBUG works, and with it clock, faults and reset; true by default. */
  debug?: boolean;
  /** true: the server is a cluster of one node, and refuses what a cluster refuses. */
  cluster?: boolean;
  /** true: the clock stands still from the start; a Date or unix milliseconds: at that instant. */
  frozen?: boolean | Date | number;
  /** The path of another zlimit-server than the package's. ZLIMIT_SERVER does the same. */
  binary?: string;
  /** The server's environment; that of this process by default. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Ends the server with the test, and shows the server's log if the test fails. */
  test?: TestContext;
  /** Receives each line of the log; true prints them, as ZLIMIT_LOG=stderr does. */
  log?: boolean | ((line: string) => void);
  /** How many milliseconds the server has to start; 10,000 by default. */
  timeout?: number;
}

/** Starts a server and resolves when it accepts connections. */
export function startServer(options?: ServerOptions): Promise<Server>;

/** A running server. It ends with close, and with this process at the latest. */
export interface Server extends AsyncDisposable {
  /** `redis://127.0.0.1:PORT`, or `unix:///PATH`. */
  readonly url: string;
  /** Undefined on a Unix socket, like port. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** The Unix socket, if the server listens on one. */
  readonly path: string | undefined;
  readonly pid: number;
  readonly clock: Clock;
  readonly faults: Faults;
  /** The latest 1000 lines of the server's log. */
  readonly log: string;
  /**
   * Sends any command, on a connection of its own; error replies reject as ReplyError. Integers
   * beyond 2^53 lose precision.
   */
  command(...args: readonly (string | number)[]): Promise<Reply>;
  /**
   * Runs RL.ALLOW, as command does, and resolves to its reply.
   *
   * @param window milliseconds, or as in the command: '1m'
   */
  allow(key: string, limit: number, window: number | string, options?: AllowOptions): Promise<Decision>;
  /**
   * Runs RL.MALLOW, as command does, and resolves to the decision of the binding term. All terms
   * admit the call, or it consumes nothing. With hold it runs RL.MRESERVE.
   */
  allowAll(terms: readonly Term[], options?: AllowAllOptions): Promise<TermDecision>;
  /**
   * Runs RL.MSETTLE and resolves to what it did to each key; to [] if the id has no hold. Once
   * more it resolves to the same and changes nothing.
   *
   * @param actuals the cost of each key, any number for slots
   */
  settle(keys: readonly string[], id: string, actuals: readonly number[]): Promise<Settlement[]>;
  /**
   * Runs RL.MCANCEL and resolves to the units given back of each key, 1 for a slot; to [] if the
   * id has no hold.
   */
  cancel(keys: readonly string[], id: string): Promise<number[]>;
  /** Between tests: removes keys, scripts and faults, and lets the clock show the system's time. */
  reset(): Promise<void>;
  /** Ends the server and resolves when its process has ended. May be called more than once. */
  close(): Promise<void>;
}

export type Reply = string | number | null | Reply[];

export interface AllowOptions {
  /** How many units the call takes, all or none; 1 by default. 0 takes none and answers for one unit. */
  cost?: number;
  /** What stands behind ALGO; LOG by default. */
  algorithm?: 'LOG' | 'FIXED' | 'COUNTER' | `GCRA ${number}` | `BUCKETS ${number}`;
}

/** The reply of RL.ALLOW. */
export interface Decision {
  /** Units granted: the cost, or 0 when denied. */
  readonly allowed: number;
  /** Units, as asked. */
  readonly limit: number;
  /** Units that still fit; with GCRA of the burst. */
  readonly remaining: number;
  /** Milliseconds until the same call is admitted: 0 when it was, -1 when its cost can never fit. */
  readonly retryAfterMs: number;
  /** Milliseconds until the window is empty. */
  readonly resetAfterMs: number;
}

/** A key of allowAll: with limits of its own, or with slots. */
export type Term = LimitTerm | SlotsTerm;

export interface LimitTerm {
  key: string;
  /** Units, and their window in milliseconds or as in the command: `[[90_000, '1m'], [1_000_000, '1d']]`. */
  limits: readonly (readonly [limit: number, window: number | string])[];
  /** How many units the call takes; 1 by default, and at least. */
  cost?: number;
  /** What stands behind ALGO; LOG by default. */
  algorithm?: AllowOptions['algorithm'];
}

export interface SlotsTerm {
  key: string;
  /** How many ids have a slot at once. */
  max: number;
  /** When a slot becomes free that nothing else frees: milliseconds, or '2m'. */
  lease: number | string;
}

export interface AllowAllOptions {
  /** Names the call, which a term of slots and hold need. */
  id?: string;
  /** Costs are estimates, and settle or cancel corrects them within this time: milliseconds, or '2m'. */
  hold?: number | string;
}

/**
 * The decision of the binding term, for the whole call. Of slots, allowed is 1 or 0, limit the slots,
 * remaining the free ones, retryAfterMs until one is free, and resetAfterMs until all are.
 */
export interface TermDecision extends Decision {
  /** The binding term's number, from 1. */
  readonly term: number;
}

/** What settle did to one key. Slots have 0 and 0: they are given back. */
export interface Settlement {
  /** Units that now count for the work. */
  readonly counted: number;
  /** Units above the estimate. */
  readonly excess: number;
}

/** The server's clock: that of TIME, TTLs, scripts and RL.*; not the one of this process. */
export interface Clock {
  /** Stops the clock. */
  freeze(): Promise<void>;
  /** Moves the clock forward by whole milliseconds. What is due has expired when this resolves. */
  advance(ms: number): Promise<void>;
  /** Moves the clock to an instant: back only if the server has no keys. */
  set(instant: Date | number): Promise<void>;
  /** Lets the clock run again from where it is. */
  resume(): Promise<void>;
  /** Resolves to the server's time in unix milliseconds. */
  now(): Promise<number>;
}

export type FaultKind =
  | 'delay' | 'close' | 'drop-reply' | 'mute' | 'noscript' | 'loading' | 'oom' | 'readonly' | 'refuse';

export interface FaultOptions {
  kind: FaultKind;
  /** The one command affected, as 'EVALSHA'; '*': all but DEBUG. By default those that kind concerns. */
  on?: string;
  /** How many commands are affected; 1 by default, Infinity for all. */
  times?: number;
  /** Delays the effect, in real time. */
  afterMs?: number;
  /** Delays the effect until the fault is removed, by remove, clear or reset. */
  untilRemoved?: boolean;
  /** The error reply of kind refuse, code word first: 'ERR it broke'. */
  text?: string;
}

/** Failures of the next commands of clients. */
export interface Faults {
  inject(options: FaultOptions): Promise<Fault>;
  /** Resolves to every fault since the last clear, those that are over included. */
  list(): Promise<FaultState[]>;
  remove(id: number): Promise<void>;
  clear(): Promise<void>;
}

export interface FaultState {
  id: number;
  kind: FaultKind;
  on: string;
  /** How many commands are still affected; -1: all. */
  left: number;
  /** How many commands were affected. */
  hits: number;
  after: number;
  text: string;
  until: '' | 'removed';
}

export interface Fault {
  readonly id: number;
  /** Resolves to how many commands were affected. */
  hits(): Promise<number>;
  /** Resolves when the fault has affected a command, which may still be delayed. */
  met(): Promise<void>;
  /** Removes it. Delays under way continue, except those with untilRemoved, which end. */
  remove(): Promise<void>;
}

/** An error that the server has replied. */
export class ReplyError extends Error {}

/** Returns the path of the binary for this platform, or throws an Error that says what exists. */
export function binaryPath(platform?: string, arch?: string): string;

/** The environment variable that names another binary: ZLIMIT_SERVER. */
export const ENVIRONMENT_VARIABLE: 'ZLIMIT_SERVER';

/** The package's version, which is the server's. */
export const version: string;
