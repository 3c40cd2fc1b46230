// The git host for installations without one. Every call returns `unavailable`.
import type { GitHost, Unavailable } from './types.ts';

const unavailable = async (): Promise<Unavailable> => ({ outcome: 'unavailable', reason: 'not_configured' });

export const notConfigured: GitHost = {
  configured: false,
  hasApp: false,
  host: '',
  check: unavailable,
  readRepository: unavailable,
  readBranch: unavailable,
  findPullRequest: unavailable,
  createPullRequest: unavailable,
  readPullRequest: unavailable,
  fetch: unavailable,
  push: unavailable,
  close: async () => {},
};
