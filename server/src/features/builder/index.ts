// Entry point for the builder, a chat in which an assistant builds an app by changing its files and entities.
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
  /** Sends an app's first message, in the transaction that creates the app. */
  startChat: async (db: Db, access: AppAccess, content: string, now: Date): Promise<void> => {
    await startTurn(db, deps, access, { content }, now);
  },
});
