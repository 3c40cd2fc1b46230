// A small version of the drill `coding-faults`. Workers are killed at chosen boundaries of coding sessions, with real
// processes, real git, and bubblewrap where the machine supports it.
import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Boundary, Kill, Kind, Script } from '../../../drills/coding-faults/scripts.ts';
import { runDrill } from '../../../drills/coding-faults.ts';
import { randomFrom } from '../../../harness/random.ts';
import { cloneTemplate } from '../support/template.ts';

const script = (number: number, kind: Kind, kills: Script['kills'], launches = 1): Script => ({
  number,
  kind,
  kills,
  launches,
  key: `key-${number}`,
  title: `Session ${number} ${kind.replaceAll('_', ' ')}`,
  app: 0,
  pauseMs: 200,
});

const at = (boundary: Boundary): Kill => ({ boundary, occurrence: 1 });

describe('coding sessions whose workers are killed', () => {
  it('make one branch, one pull request and one commit, and leave nothing behind', async () => {
    const database = await cloneTemplate();
    onTestFinished(database.drop);
    const scripts = [
      // A push counts as progress, so two crashes in a row do not end the session.
      script(1, 'edit', [at('pushed'), at('moved_to_opening')], 10),
      script(2, 'question', [at('checkpoint_stored')]),
      script(3, 'cancel_created', []), // the worker is killed while the session is being cancelled
      script(4, 'cancel_command', []),
    ];
    const services = {
      databaseUrl: database.url,
      redis: { REDIS_PREFIX: `e2e:${randomBytes(6).toString('hex')}:` },
    };
    const size = { workspaces: 1, apps: 1, apis: 1, workers: 2, atOnce: 4, faultRounds: 0 };
    const report = await runDrill(
      services,
      { ...size, coverage: 'as_scripted' },
      { scripts, spares: [] },
      randomFrom(1),
      () => {},
    );
    const { faults, left, leaks } = report.figures;
    expect({ faults, left, leaks }).toEqual({ faults: {}, left: [], leaks: [] });
    expect(report.judged.filter(({ met }) => !met)).toEqual([]);
  });
});
