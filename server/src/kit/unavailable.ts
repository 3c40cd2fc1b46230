// Owns the error of an object storage that can't be used at the moment: it can't be reached, refuses us, or is full.
// `kit/http/errors.ts` answers it with 503.

export class StorageUnavailable extends Error {
  constructor(cause: unknown) {
    super(`object storage unavailable: ${describeCause(cause)}`, { cause });
    this.name = 'StorageUnavailable';
  }
}

/** Errors of connections may have a code only, and those of a provider a name and a message. */
function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as { code?: unknown };
  return [typeof code === 'string' ? code : cause.name, cause.message].filter(Boolean).join(': ');
}
