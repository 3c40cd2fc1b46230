// The entries about queue rows that an operator changes by hand, with a command or through the API
// (docs/operate/queues.md).
import type { AuditedChange } from './audit.ts';
import type { AuditType } from './types.ts';

export type QueueAuditType = Extract<AuditType, `queue.${string}`>;

export interface QueueChange {
  /** The rows that were named: by id, or by their owner and the time of their failure. */
  readonly ids?: readonly string[] | undefined;
  readonly owner?: string | undefined;
  readonly since?: Date | undefined;
  readonly reason?: string;
  readonly until?: Date;
  /** The number of rows that were changed. */
  readonly count?: number;
}

export const describeQueueChange = (
  type: QueueAuditType,
  queue: { readonly name: string },
  change: QueueChange,
): AuditedChange => ({ type, target: { kind: 'queue', id: queue.name }, after: change });
