// The HTTP contract for explaining failed runs.
import { writeCredentials } from '../../../core/auth/credentials.ts';
import type { Guard } from '../../../core/auth/guards/guard.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { type AnalysisDeps, analyzeRun, maxAnswerSeconds, type RunAccess } from './analyze.ts';
import { RunExplanation } from './contract.ts';

export const analyzeRunRoute = (access: Guard<RunAccess>, deps: AnalysisDeps): Route =>
  route({
    name: 'analyzeRun',
    method: 'POST',
    path: '/api/apps/{app_id}/workflows/{workflow_id}/runs/{run_id}/analyze',
    summary: 'Explain why a run failed',
    description:
      'The first call generates the explanation with the language model, free of charge, and stores it; later calls return the stored one. Both strings are empty if the model is unavailable. The headers are always sent, because they do not depend on the model.',
    credentials: writeCredentials,
    access,
    limit: perMinute(5, 'caller', { scaledBy: 'never' }),
    stores: 'measured',
    work: 'outside',
    heldSeconds: maxAnswerSeconds,
    repeat: 'safe',
    audits: 'nothing',
    answers: { 200: RunExplanation },
    headers: ['X-Failure-Class', 'X-Failure-Step', 'X-Explanation-Source'],
    refusals: [{ status: 400, code: 'run_not_failed' }],
    handle: ({ db, access }) => analyzeRun(db, deps, access),
  });
