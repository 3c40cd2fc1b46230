// Attacks that create work for the worker: events for webhooks, agent replies, and audited changes.
import { pick, type Way } from '../way.ts';

const member = { by: 'member', manner: 'requests', connections: 8 } as const;
const admin = { ...member, by: 'admin' } as const;

const bulk = `[${Array.from({ length: 500 }, (_, n) => `{"key":"${n}","text":"event"}`).join()}]`;

const send =
  (accept: string): Way['request'] =>
  ({ agents, members }, n) => {
    const agent = pick(agents, Math.floor(n / members.length));
    return {
      method: 'POST',
      path: `/api/agents/${agent.id}/conversations/${pick(agent.conversations, n)}/messages`,
      body: JSON.stringify({ content: 'tell me a long story' }),
      headers: { accept },
    };
  };

const stream = { accept: 'text/event-stream' };

const events = JSON.stringify({
  events: Array.from({ length: 500 }, (_, n) => ({ event_name: 'flood', properties: { n, text: 'x'.repeat(300) } })),
});

const writingChats = 5;

export const backgroundWays: readonly Way[] = [
  {
    ...member,
    name: 'events for 20 webhooks that hang',
    reaches: ['200'],
    request: ({ apps }) => ({ method: 'POST', path: `/api/apps/${apps[2]}/entities/Loose/bulk`, body: bulk }),
  },
  {
    ...member,
    name: 'events for 20 webhooks',
    reaches: ['200'],
    request: ({ apps }) => ({ method: 'POST', path: `/api/apps/${apps[3]}/entities/Loose/bulk`, body: bulk }),
  },
  {
    ...member,
    name: 'webhooks created',
    reaches: ['200', '409'],
    request: ({ apps, receiver }, n) => ({
      method: 'POST',
      path: `/api/apps/${pick(apps.slice(4), n)}/webhooks`,
      body: JSON.stringify({ target_url: `${receiver}/ok`, events: ['entity.created'] }),
    }),
  },
  {
    ...member,
    name: 'streams of replies',
    manner: 'held',
    connections: 300,
    reaches: ['200'],
    request: send('text/event-stream'),
  },
  {
    ...member,
    name: 'replies that nobody waits for',
    manner: 'held',
    connections: 300,
    reaches: ['open'],
    request: send('application/json'),
  },
  {
    ...member,
    name: 'followers of a run',
    manner: 'held',
    connections: 500,
    reaches: ['200', '429'],
    request: ({ apps, run }) => ({
      method: 'GET',
      path: `/api/apps/${apps[0]}/workflows/${run.workflow_id}/runs/${run.run_id}`,
      headers: stream,
    }),
  },
  {
    ...member,
    // The first connections send the messages whose turns the others follow.
    name: 'followers of a chat',
    manner: 'held',
    connections: 500,
    reaches: ['200', '429'],
    request: ({ apps }, n) => {
      const chat = `/api/apps/${pick(apps.slice(4, 4 + writingChats), n)}/chat`;
      const body = JSON.stringify({ content: 'tell me a long story' });
      return n < writingChats
        ? { method: 'POST', path: `${chat}/message`, body, headers: stream }
        : { method: 'GET', path: `${chat}/events`, headers: stream };
    },
  },
  {
    ...member,
    name: 'events beyond the quota',
    reaches: ['402'],
    request: ({ full }, n) => ({
      method: 'POST',
      path: `/api/apps/${full.app_id}/analytics/track/batch`,
      body: events,
      token: pick(full.tokens, n),
    }),
  },
  {
    ...admin,
    name: 'invitations',
    reaches: ['200'],
    request: (_, n) => ({
      method: 'POST',
      path: '/api/workspace/invitations/bulk-invite',
      body: JSON.stringify({
        invitations: Array.from({ length: 50 }, (_, i) => ({ email: `guest${n}-${i}@else.example`, role: 'viewer' })),
      }),
    }),
  },
  {
    ...member,
    name: 'tokens created',
    reaches: ['200', '409'],
    request: (_, n) => ({
      method: 'POST',
      path: '/api/auth/tokens',
      body: JSON.stringify({ name: `token ${n}`, permission: 'read_only', expires_in_days: 1 }),
    }),
  },
];
