// The problem that is returned while jq is busy.
import { Problem } from '../../kit/problem.ts';

export const jqBusy = () =>
  new Problem(
    'unavailable',
    'service_unavailable',
    'Too many expressions are being evaluated, so nothing was changed. Retry in a moment.',
    { headers: { 'retry-after': '1' } },
  );
