// The entry point of the builder: a chat in which an assistant builds an app, by changing its files and entities.
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import { createTurnQueue, type TurnQueueDeps, turnJobs } from './background.ts';
import { startTurn } from './chat.ts';
import { type ChatRouteDeps, chatRoutes } from './routes.ts';
import { readStarter } from './starter.ts';

export { builderArchiveTables } from './archive-rows.ts';

export type BuilderDeps = ChatRouteDeps & Omit<TurnQueueDeps, 'starter'>;

export const builder = (deps: BuilderDeps) => ({
  routes: chatRoutes(deps),
  queues: [createTurnQueue({ ...deps, starter: readStarter() })],
  jobs: turnJobs,
  /** Sends the first message of an app, in the transaction that creates it. */
  startChat: async (db: Db, access: AppAccess, content: string, now: Date): Promise<void> => {
    await startTurn(db, access, { content }, deps, now);
  },
});
