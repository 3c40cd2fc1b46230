// Entry point for coding sessions: imported apps' repositories, and the sessions in which an agent works on them.
import { listenInTransaction } from '../../events.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Metrics } from '../../kit/metrics.ts';
import type { Db } from '../../tables.ts';
import { createSessionQueue, type SessionQueueDeps, sessionJobs } from './background.ts';
import { rewrapTokens } from './repository/repository.ts';
import { codingSessionRoutes, type RouteDeps } from './routes.ts';
import { createSessionStops } from './session/cancel.ts';
import { removeOldEvents } from './store/events.ts';
import { countSessions } from './store/sessions.ts';
import { isEnded, states } from './transitions.ts';
import { usualLimits, type WorkLimits } from './work/agent.ts';

export { createSessionStops } from './session/cancel.ts';

export { type Boundary, boundaries } from './turn/deliver.ts';
export type { WorkLimits } from './work/agent.ts';

export interface CodingSessionDeps extends RouteDeps, Omit<SessionQueueDeps, 'limits' | 'onTurn'> {
  readonly metrics: Metrics;
  readonly masterKeyId: string;
  readonly wake: RouteDeps['wake'] & SessionQueueDeps['wake'];
  readonly model: SessionQueueDeps['model'];
  readonly gitHost: SessionQueueDeps['gitHost'];
  /** Overrides the default limits. */
  readonly limits: Partial<WorkLimits> | undefined;
}

export function codingSessions({ limits, metrics, ...given }: CodingSessionDeps) {
  const onTurn = metrics.addOutcomes(
    'plinth_coding_turn',
    'Turns of coding sessions, by outcome',
    [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600],
  );
  const deps = { ...given, limits: { ...usualLimits, ...limits }, onTurn };
  const { stopMember } = createSessionStops(deps);
  return {
    routes: codingSessionRoutes(deps),
    listeners: [listenInTransaction('member.removed', stopMember)],
    queues: [createSessionQueue(deps)],
    jobs: [...listJobs(deps), ...sessionJobs(deps)],
    gauges: sessionGauges,
  };
}

const dayMs = 24 * 60 * 60_000;
const eventDays = 7;
const sessionsAtOnce = 100;

const listJobs = ({ secrets, masterKeyId }: Pick<CodingSessionDeps, 'secrets' | 'masterKeyId'>): Job[] => [
  {
    name: 'rewrap tokens of repositories',
    everyMs: 60_000,
    run: (db) => rewrapTokens(db, secrets, masterKeyId),
  },
  {
    name: 'remove old events of coding sessions',
    everyMs: 10 * 60_000,
    run: (db, now) => removeOldEvents(db, new Date(now.getTime() - eventDays * dayMs), sessionsAtOnce),
  },
];

const sessionGauges = [
  {
    name: 'plinth_coding_sessions',
    help: 'Coding sessions that have not ended, by state',
    label: 'state',
    read: async (db: Db) => ({
      ...Object.fromEntries(states.filter((state) => !isEnded(state)).map((state) => [state, 0])),
      ...(await countSessions(db)),
    }),
  },
];
