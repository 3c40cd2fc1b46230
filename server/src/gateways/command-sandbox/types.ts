// What the command sandbox can be asked to do: run one command of an agent that nobody trusts, on a folder that nobody
// trusts, and delete such a folder.

export type Availability = { available: true } | { available: false; reason: string };

/** A folder of the host that the command sees at another path. */
export interface Mount {
  path: string;
  at: string;
}

export interface CommandRequest {
  /** A folder of the host. The command sees it at `/repo`, its working directory, and may change it. */
  folder: string;
  /** The program and its arguments as they are called inside, for example `['/bin/sh', '-c', text]`. */
  command: readonly string[];
  readOnly?: readonly Mount[];
  writable?: readonly Mount[];
  /** Variables beside PATH, HOME, LANG and TERM. Nothing of this process's environment is passed on. */
  environment?: Readonly<Record<string, string>>;
  timeoutMs: number;
  maxOutputBytes: number;
  signal: AbortSignal;
  /** Gets the output as it comes, in pieces that are safe to show, up to `maxOutputBytes` in all. */
  onOutput?: (text: string) => void;
}

/** Standard output and standard error in the order of their arrival, without control characters. */
interface CommandOutput {
  output: string;
  /** Whether the command printed more than `maxOutputBytes`. */
  is_cut: boolean;
  duration_ms: number;
}

export type CommandResult =
  | ({ outcome: 'exited'; exit_code: number } & CommandOutput)
  | ({ outcome: 'timed_out' | 'out_of_memory' | 'too_many_processes' | 'disk_full' | 'stopped' } & CommandOutput)
  | { outcome: 'unavailable'; reason: string };

export interface CommandSandbox {
  /** Whether commands can be run with all protections. The answer is kept for a minute. */
  check(): Promise<Availability>;
  /** Never runs a command without its protections: the outcome is then `unavailable`. */
  run(request: CommandRequest): Promise<CommandResult>;
  /** Makes an empty folder that the sandbox's commands may write to, and that others can't read. */
  createFolder(folder: string): Promise<void>;
  /** Deletes a folder whatever commands have made of its contents. */
  removeFolder(folder: string): Promise<void>;
  /** Kills and removes what is left of the commands of processes that no longer run. */
  removeLeftovers(): Promise<void>;
  /** Stops all commands that this process runs. */
  close(): Promise<void>;
}
