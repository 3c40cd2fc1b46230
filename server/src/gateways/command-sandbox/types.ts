// The command sandbox's interface: running an untrusted agent's command in an untrusted folder, and deleting that
// folder.

export type Availability = { available: true } | { available: false; reason: string };

/** A folder on the host, and the path at which the command sees it. */
export interface Mount {
  path: string;
  at: string;
}

export interface CommandRequest {
  /** A folder on the host. The command sees it at `/repo`, which is its working directory, and may change it. */
  folder: string;
  /** The program and its arguments, as called inside the sandbox. Example: `['/bin/sh', '-c', text]`. */
  command: readonly string[];
  readOnly?: readonly Mount[];
  writable?: readonly Mount[];
  /** Variables in addition to PATH, HOME, LANG and TERM. Nothing is passed on from this process's environment. */
  environment?: Readonly<Record<string, string>>;
  timeoutMs: number;
  maxOutputBytes: number;
  signal: AbortSignal;
  /** Receives the output as it arrives, in pieces that are safe to display, up to `maxOutputBytes` in total. */
  onOutput?: (text: string) => void;
}

/** Standard output and standard error in order of arrival, without control characters. */
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
  /** Whether commands can be run with all protections. The result is cached for a minute. */
  check(): Promise<Availability>;
  /** Never runs a command without its protections. If any are missing, the outcome is `unavailable`. */
  run(request: CommandRequest): Promise<CommandResult>;
  /** Creates an empty folder that the sandbox's commands may write to and other users can't read. */
  createFolder(folder: string): Promise<void>;
  /** Deletes a folder, whatever commands have done to its contents. */
  removeFolder(folder: string): Promise<void>;
  /** Kills and removes what is left of commands whose Plinth process no longer runs. */
  removeLeftovers(): Promise<void>;
  /** Stops all commands that this process is running. */
  close(): Promise<void>;
}
