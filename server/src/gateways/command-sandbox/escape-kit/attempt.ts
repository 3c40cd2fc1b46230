// What an attempt to break out is: data. Whether it succeeded is judged outside, by server/test/support/canaries.ts.
import type { CommandResult } from '../types.ts';

/**
 * Scripts of `/bin/sh` that run in the clone's folder. They know from their environment what there is to reach: `OUTSIDE` (a folder
 * that every user may change), `SECRET_FILE` in it, `OTHER_CLONE`, `PORT` (TCP and UDP on 127.0.0.1 and ::1), `SOCKET` (its path),
 * `ABSTRACT` (its name), `VICTIM` (a process of the same user), `REDIS_PORT`, `DATABASE_PORT`.
 */
export interface Attempt {
  readonly name: string;
  readonly script: string;
  /** Run by the product afterwards, on what the script has left: see repositories.ts. */
  readonly then?: string;
  /** How the sandbox must end it. Otherwise it may end as it likes. */
  readonly outcome?: CommandResult['outcome'];
  /** Without the sandbox, a canary notices it: proof that the attempt is a real one. */
  readonly succeedsOutside?: true;
  readonly timeoutMs?: number;
}

export const python = (lines: string): string => `/usr/bin/python3 - <<'PYTHON'\nimport os\n${lines}\nPYTHON`;

/** A system call by its number on x86-64 and arm64. */
export const syscall = (x64: number, arm64: number, values: string): string =>
  python(`import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
number = ${x64} if platform.machine() == 'x86_64' else ${arm64}
print(libc.syscall(number, ${values}), ctypes.get_errno())`);
