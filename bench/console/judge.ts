// Judges the bench by the journals of the people, against what the API answers in the end.
import type { Judged } from '../../harness/bench.ts';
import { median } from '../../harness/statistics.ts';
import type { Environment } from './environment.ts';
import type { Journal, Session } from './people.ts';

interface Evidence {
  readonly lost: readonly string[];
  readonly notSaved: readonly string[];
  readonly notLive: readonly string[];
  readonly notShown: readonly string[];
}

export async function judge(call: Environment['call'], { sessions, labels, reloads }: Journal, expected: number) {
  const faults: Evidence[] = [];
  for (const session of sessions) faults.push(await examine(call, session));
  const all = (kind: keyof Evidence) => faults.flatMap((fault) => fault[kind]);
  const compared = labels.filter(({ served }) => served !== undefined);
  const wrong = compared.filter(({ label, served }) => label !== served);
  const failures = sessions.flatMap(({ number, failure }) => (failure === undefined ? [] : [`${number}: ${failure}`]));
  const judged: Judged[] = [
    { bar: 'every session reached its end', met: sessions.length === expected && failures.length === 0 },
    { bar: 'no message was lost or repeated', met: all('lost').length === 0 },
    { bar: 'no preview showed another revision than its label', met: compared.length > 0 && wrong.length === 0 },
    { bar: 'whatever was said to be saved is kept', met: all('notSaved').length === 0 },
    { bar: 'what was said to be live was published', met: all('notLive').length === 0 },
    { bar: 'the records that users wrote were shown', met: all('notShown').length === 0 },
  ];
  const figures = {
    sessions: sessions.length,
    session_ms: Math.round(median(sessions.map(({ ms }) => ms))),
    messages: sessions.reduce((sum, { messages }) => sum + messages.length, 0),
    labels_compared: compared.length,
    reloads,
    faults: {
      failures: failures.slice(0, 5),
      lost: all('lost').slice(0, 5),
      wrong_labels: wrong.slice(0, 5),
      not_saved: all('notSaved').slice(0, 5),
      not_live: all('notLive').slice(0, 5),
      not_shown: all('notShown').slice(0, 5),
    },
  };
  return { judged, figures };
}

async function examine(callAs: Environment['call'], session: Session): Promise<Evidence> {
  const { app_id, number, messages, saved, record, shown } = session;
  if (app_id === '')
    return { lost: messages.map((text) => `${number}: ${text}`), notSaved: [], notLive: [], notShown: [] };
  const call = callAs(session.person);
  const path = `/api/apps/${app_id}`;
  const chat = (await call('GET', `${path}/chat/full-conversation?limit=100`)).body.items;
  const sent: string[] = chat.flatMap(({ role, content }: { role: string; content: string }) =>
    role === 'user' ? [content] : [],
  );
  const revisions = (await call('GET', `${path}/revisions?limit=100`)).body.items;
  const kept = new Set(revisions.map(({ revision }: { revision: number }) => revision));
  const deployments = (await call('GET', `${path}/deployments?limit=100`)).body.items;
  const published = new Set(deployments.map(({ revision }: { revision: number }) => revision));
  const say = (what: unknown) => `${number}: ${what}`;
  return {
    lost: messages.filter((text) => sent.filter((content) => content === text).length !== 1).map(say),
    notSaved: saved.filter((revision) => !kept.has(revision)).map(say),
    notLive: session.live === undefined || published.has(session.live) ? [] : [say(session.live)],
    notShown: session.failure !== undefined || shown.includes(record) ? [] : [say(record)],
  };
}
