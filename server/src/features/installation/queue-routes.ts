// The routes that operators use to look into queues and to intervene by hand.
import { sessionOnly } from '../../core/auth/credentials.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { operator } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { explainQueueRow, listQueueStates } from '../../kit/background/queues/operate.ts';
import type { Queue } from '../../kit/background/queues/queue.ts';
import { cursorRefusal } from '../../kit/http/cursor.ts';
import { items } from '../../kit/http/shapes.ts';
import { idOrNull } from '../../kit/ids.ts';
import {
  CancelledQueueRows,
  ExplainedQueueRow,
  NewQueuePause,
  OperatedQueueRow,
  presentRow,
  QueueCancel,
  QueuePause,
  QueueResume,
  QueueRetry,
  QueueRowQuery,
  QueueState,
  RetriedQueueRows,
} from './contract.ts';
import { cancelRows, listRows, pause, type QueueListDeps, resume, retryRows } from './queues.ts';

export interface QueueRouteDeps extends QueueListDeps {
  /** The queues of all features. A function, because the list is complete only once all features exist. */
  listQueues(): readonly Queue[];
}

export function queueRoutes({ cursors, listQueues }: QueueRouteDeps): Route[] {
  const ofQueue = nestedResource(
    operator,
    'queue',
    async (_db, _access, name) => listQueues().find((queue) => queue.name === name),
    'queue',
  );
  const ofRow = nestedResource(
    ofQueue,
    'queue_row',
    async (db, { queue }, id) => (idOrNull(id) === null ? undefined : explainQueueRow(db, queue, id)),
    'row_id',
  );
  const shared = { credentials: sessionOnly, limit: perMinute(60, 'caller'), work: 'slow' } as const;
  const byHandRefusal = { status: 409, code: 'queue_rows_not_changeable' };
  return [
    route({
      ...shared,
      name: 'listQueues',
      method: 'GET',
      path: '/api/operator/queues',
      summary: 'List the queues of the installation with the number of their rows in each state',
      access: operator,
      answers: { 200: items(QueueState, 'All queues.') },
      handle: async ({ db }) => ({
        items: await listQueueStates(db, listQueues()),
        next_cursor: null,
        has_more: false,
      }),
    }),
    route({
      ...shared,
      name: 'listQueueRows',
      method: 'GET',
      path: '/api/operator/queues/{queue}/rows',
      summary: 'List rows of a queue that are not done: what is due first, then running, delayed and failed rows',
      access: ofQueue,
      query: QueueRowQuery,
      answers: { 200: items(OperatedQueueRow, 'The rows of the page.') },
      refusals: [cursorRefusal],
      handle: ({ db, access, query, now }) => listRows(db, { cursors }, access, query, now),
    }),
    route({
      ...shared,
      name: 'getQueueRow',
      method: 'GET',
      path: '/api/operator/queues/{queue}/rows/{row_id}',
      summary: 'Read a row of a queue, and why it does not run',
      access: ofRow,
      answers: { 200: ExplainedQueueRow },
      handle: ({ access: { queue_row } }) => ({ ...presentRow(queue_row), why: [...queue_row.why] }),
    }),
    route({
      ...shared,
      name: 'retryQueueRows',
      method: 'POST',
      path: '/api/operator/queues/{queue}/retry',
      summary: 'Run failed rows of a queue again',
      description:
        'Refused with 409 `queue_rows_not_changeable` for queues whose rows have settled more when they failed, such as credits; `instead` says what to do.',
      access: ofQueue,
      body: QueueRetry,
      needsWorker: true,
      repeat: 'safe',
      audits: { sometimes: ['queue.retried'] },
      answers: { 200: RetriedQueueRows },
      refusals: [byHandRefusal],
      handle: ({ db, access, body, now }) => retryRows(db, access, body, now),
    }),
    route({
      ...shared,
      name: 'cancelQueueRows',
      method: 'POST',
      path: '/api/operator/queues/{queue}/cancel',
      summary: 'End waiting rows of a queue as failed; rows that are running continue',
      effect: 'remove',
      access: ofQueue,
      body: QueueCancel,
      repeat: 'safe',
      audits: { sometimes: ['queue.cancelled'] },
      answers: { 200: CancelledQueueRows },
      refusals: [byHandRefusal],
      handle: ({ db, access, body, now }) => cancelRows(db, access, body, now),
    }),
    route({
      ...shared,
      name: 'pauseQueue',
      method: 'POST',
      path: '/api/operator/queues/{queue}/pause',
      summary: "Pause a queue, or the rows of one owner; a second pause changes the first one's end",
      access: ofQueue,
      body: NewQueuePause,
      audits: ['queue.paused'],
      answers: { 200: QueuePause },
      handle: ({ db, access, body, now }) => pause(db, access, body, now),
    }),
    route({
      ...shared,
      name: 'resumeQueue',
      method: 'POST',
      path: '/api/operator/queues/{queue}/resume',
      summary: 'End the pause of a queue, or of one owner',
      access: ofQueue,
      body: QueueResume,
      repeat: 'safe',
      audits: { sometimes: ['queue.resumed'] },
      answers: { 200: QueuePause },
      handle: ({ db, access, body, now }) => resume(db, access, body, now),
    }),
  ];
}
