// Defines an attempt to break out of the sandbox, as data. Code outside the sandbox decides whether it succeeded:
// server/test/support/canaries.ts.
import type { CommandResult } from '../../../src/gateways/command-sandbox/types.ts';

/**
 * A `/bin/sh` script that runs in the clone's folder. Environment variables name its targets: `OUTSIDE` (a folder that
 * every user may change), `SECRET_FILE` in it, `OTHER_CLONE`, `PORT` (TCP and UDP on 127.0.0.1 and ::1), `SOCKET` (its
 * path), `ABSTRACT` (its name), `VICTIM` (a process of the same user), `REDIS_PORT`, `DATABASE_PORT`.
 */
export interface Attempt {
  readonly name: string;
  readonly script: string;
  /** Commands that the product runs afterwards on the files left by the script (see repositories.ts). */
  readonly then?: string;
  /** How the sandbox must end the attempt. If undefined, any outcome is accepted. */
  readonly outcome?: CommandResult['outcome'];
  /** Set if a canary detects the attempt without the sandbox, which proves that the attempt is effective. */
  readonly succeedsOutside?: true;
  readonly timeoutMs?: number;
}

export const python = (lines: string): string => `/usr/bin/python3 - <<'PYTHON'\nimport os\n${lines}\nPYTHON`;

/** Makes a system call, given its numbers on x86-64 and arm64. */
export const syscall = (x64: number, arm64: number, values: string): string =>
  python(`import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
number = ${x64} if platform.machine() == 'x86_64' else ${arm64}
print(libc.syscall(number, ${values}), ctypes.get_errno())`);
