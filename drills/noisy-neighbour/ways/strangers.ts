// Attacks by callers without credentials, from many addresses.
import { pick, type Way } from '../way.ts';

const anonymous = { by: 'anonymous', manner: 'requests', connections: 64 } as const;

export const strangerWays: readonly Way[] = [
  {
    ...anonymous,
    name: 'unknown tokens',
    quick: true,
    reaches: ['401'],
    request: ({ apps, unknownTokens }, n) => ({
      method: 'GET',
      path: `/api/apps/${pick(apps, n)}`,
      token: pick(unknownTokens, n),
    }),
  },
  {
    ...anonymous,
    name: 'unknown tokens from 1,000 addresses',
    quick: true,
    connections: 1_000,
    addresses: 1_000,
    reaches: ['401'],
    request: ({ apps, unknownTokens }, n) => ({
      method: 'GET',
      path: `/api/apps/${pick(apps, n)}`,
      token: pick(unknownTokens, n),
    }),
  },
  {
    ...anonymous,
    name: 'unknown apps',
    quick: true,
    reaches: ['401', '404'],
    request: ({ unknownIds }, n) => ({ method: 'GET', path: `/api/apps/${pick(unknownIds, n)}/entities/Task` }),
  },
  {
    ...anonymous,
    name: 'sign-ins with wrong passwords',
    reaches: ['401'],
    request: (_, n) => ({
      method: 'POST',
      path: '/api/auth/sign-in',
      body: JSON.stringify({ email: `person${n}@elsewhere.example`, password: 'not the password' }),
    }),
  },
  {
    ...anonymous,
    name: 'preflights',
    reaches: ['204', '200', '404', '403'],
    request: ({ apps }, n) => ({
      method: 'OPTIONS',
      path: `/api/apps/${pick(apps, n)}/entities/Task`,
      headers: { origin: `https://page${n}.example`, 'access-control-request-method': 'GET' },
    }),
  },
  { ...anonymous, name: 'readyz', quick: true, reaches: ['200'], request: () => ({ method: 'GET', path: '/readyz' }) },
  {
    ...anonymous,
    name: 'slow bodies',
    manner: 'slow body',
    connections: 1_000,
    reaches: ['open'],
    request: () => ({ method: 'POST', path: '/api/auth/sign-in', body: 'x'.repeat(60_000) }),
  },
  {
    ...anonymous,
    name: 'idle connections',
    manner: 'idle',
    connections: 4_000,
    reaches: ['open'],
    request: () => ({ method: 'GET', path: '/' }),
  },
  {
    ...anonymous,
    name: 'thousands of kept connections',
    manner: 'held',
    connections: 4_000,
    reaches: ['200'],
    request: () => ({ method: 'GET', path: '/healthz' }),
  },
  {
    ...anonymous,
    name: 'pipelined requests',
    manner: 'pipelined',
    reaches: ['200', '429'],
    request: () => ({ method: 'GET', path: '/api/info' }),
  },
  {
    ...anonymous,
    name: 'large headers',
    reaches: ['401'],
    request: ({ apps }, n) => ({
      method: 'GET',
      path: `/api/apps/${pick(apps, n)}`,
      headers: { cookie: `a=${'x'.repeat(15_000)}`, 'x-other': 'y'.repeat(15_000) },
    }),
  },
  {
    ...anonymous,
    name: 'long queries',
    reaches: ['200', '401', '422', '429'],
    request: ({ apps }, n) => ({
      method: 'GET',
      path: `/api/apps/${apps[1]}/entities/Loose?${n}=${'%F0%9F%98%80'.repeat(2_000)}`,
    }),
  },
  {
    ...anonymous,
    name: 'records in an open app',
    reaches: ['200', '429'],
    request: ({ apps }) => ({
      method: 'POST',
      path: `/api/apps/${apps[1]}/entities/Loose/bulk`,
      body: `[${Array.from({ length: 400 }, (_, n) => `{"text":"${n}${'x'.repeat(100)}"}`).join()}]`,
    }),
  },
  {
    ...anonymous,
    name: 'patterns in an open app',
    reaches: ['200', '429'],
    request: ({ apps }) => ({
      method: 'POST',
      path: `/api/apps/${apps[1]}/entities/Pattern`,
      body: JSON.stringify({ text: 'a'.repeat(6_000) }),
    }),
  },
];
