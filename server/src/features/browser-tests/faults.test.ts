// Tests which failures are attributed to Plinth, and which to the app.
import { describe, expect, it } from 'vitest';
import type { Evidence } from '../../gateways/browser/session/types.ts';
import { findFault, messages } from './faults.ts';
import type { RunResult } from './run/types.ts';

const api = 'https://plinth.example';
const result: RunResult = {
  ended: 'finished',
  steps: [],
  modelCalls: 0,
  recording: null,
  uncheckedExpectations: [],
  leftOut: 0,
};
const evidence: Evidence = {
  console_errors: [],
  page_errors: [],
  network_failures: [],
  repeated_requests: [],
  notes: [],
  blocked: [],
  exhausted: false,
  cut: false,
};
const failure = (url: string, status: number | null, reason = `HTTP ${status}`) => ({
  network_failures: [{ url, method: 'GET', status, reason, step: 1 }],
});
const lost = 'net::ERR_EMPTY_RESPONSE';

describe('a fault of Plinth', () => {
  it.each<[string, Partial<Evidence>, string | undefined]>([
    ['a limit of the API', failure(`${api}/api/apps/x/auth/sign-in`, 429), messages.tooManyRequests],
    ['a limit of the app itself', failure('/limited', 429), undefined],
    ['an API that is unavailable', failure(`${api}/api/apps/x/entities/Order`, 503), messages.unreachable],
    ['an API that has no answer', failure(`${api}/api/apps/x/entities/Order`, null, lost), messages.unreachable],
    ['an app that has no answer', failure('/app.js', null, 'net::ERR_CONNECTION_RESET'), messages.unreachable],
    ['an error of the API', failure(`${api}/api/apps/x/entities/Order`, 500), undefined],
    ['what the page may not ask for', failure(`${api}/settings`, null, 'net::ERR_FAILED'), undefined],
    ['another host without an answer', failure('https://other.example/x', null, lost), undefined],
    ['a page that has used up its network', { ...failure('/app.js', null, lost), exhausted: true }, undefined],
  ])('%s', (_name, more, message) => {
    expect(findFault({ result, evidence: { ...evidence, ...more }, claims: 1 }, 'failed', api)).toBe(message);
    expect(findFault({ result, evidence: { ...evidence, ...more }, claims: 1 }, 'passed', api)).toBeUndefined();
  });
});
