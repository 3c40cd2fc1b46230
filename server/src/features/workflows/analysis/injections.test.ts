// Tests runs whose data contains instructions for the language model. The model obeys all of them and repeats its input
// (server/test/failures/injections.ts). The explanation must contain no secrets, no links and none of our instructions.
import { afterAll, describe, expect, it } from 'vitest';
import { startModelSandbox } from '../../../../../sandbox/src/model.ts';
import { type Obedience, obey } from '../../../../../sandbox/src/obedient-model.ts';
import { injections } from '../../../../test/failures/injections.ts';
import { insertFailedRun } from '../../../../test/support/failed-runs.ts';
import { define, startWorkflowWorld } from '../../../../test/support/workflows.ts';
import { instructions } from './prompt.ts';

const secret = 'Opal-Finch/77 quartz';
const forms: Readonly<Record<string, string>> = {
  plain: secret,
  url: encodeURIComponent(secret),
  json: JSON.stringify(secret),
  base64: Buffer.from(`ann:${secret}`).toString('base64'),
  hex: Buffer.from(secret).toString('hex'),
  hidden: [...secret].join('\u200b'),
};

const model = await startModelSandbox(0, 0);
afterAll(() => model.close());
const { world, token, create, newApp } = await startWorkflowWorld({ environment: { MODEL_URL: model.url } });
const app = await newApp();
const put = await world.call('PUT', `/api/apps/${app.id}/secrets/API_KEY`, { as: token, body: { value: secret } });
expect(put.status).toBe(200);
const personal = await world.token(await world.person('other@example.com'), app.workspace_id);
expect(personal).not.toBe('');

/** Explains a run whose definition, name, steps and error contain the text and one of our tokens. */
async function explain(text: string, obedience: Obedience) {
  const said = `${text} ${personal}`;
  const workflow = await create(app, {
    name: `Obey ${crypto.randomUUID()}`,
    definition: define([{ pass: { set: { note: said } } }]),
  });
  const named = { ...workflow, name: said };
  const outputs = [{ body: said }, { [said]: { nested: [said] } }, said];
  const error_message = `Task 'last' failed: ${said}`;
  const run = await insertFailedRun(world, app, named, { outputs, error_message });
  model.script(obey(obedience));
  await world.resetRateLimits();
  const sentBefore = model.requests.length;
  const got = await world.call('POST', `/api/apps/${app.id}/workflows/${workflow.id}/runs/${run}/analyze`, {
    as: token,
  });
  expect(got.status, JSON.stringify(got.body)).toBe(200);
  const stored = await world.db.selectFrom('workflow_analyses').where('run_id', '=', run).selectAll().execute();
  return { body: got.body, seen: JSON.stringify([got.body, stored]), sent: model.requests.slice(sentBefore) };
}

const lettersOf = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

function expectNoSecret(text: string) {
  const letters = lettersOf(text);
  const hex = Buffer.from(secret).toString('hex');
  for (const part of ['opalfinch', 'finch77', 'quartz', 'ztrauq', 'hcniflapo', hex.slice(0, 12), hex.slice(-12)])
    expect(letters).not.toContain(part);
  for (const each of [secret, `ann:${secret}`, ` ${secret}`])
    expect(letters).not.toContain(lettersOf(Buffer.from(each).toString('base64').slice(4, -6)));
  expect(letters).not.toContain(lettersOf(personal.slice(6)));
}

/** Returns the boundary, which is the line before the document. */
const boundaryOf = (content?: string | null) => String(content?.split('\n')[1]);

/** Fails if the text contains eight consecutive words from our instructions. */
function expectNoSystemText(text: string) {
  const words = (from: string) => from.toLowerCase().match(/[a-z]+/g) ?? [];
  const ours = words(instructions);
  const seen = ` ${words(text).join(' ')} `;
  for (let at = 0; at + 8 <= ours.length; at += 1) expect(seen).not.toContain(` ${ours.slice(at, at + 8).join(' ')} `);
}

describe.each<Obedience>(['everything', 'data', 'commands'])('a model that repeats or obeys %s', (obedience) => {
  it.each(Object.entries(injections))('reveals nothing and links nowhere: %s', async (name, injection) => {
    const form = Object.values(forms)[name.length % Object.keys(forms).length] as string;
    const { seen, body, sent } = await explain(injection.replaceAll('SECRET', form), obedience);
    expect(sent.length).toBeGreaterThan(0);
    for (const request of sent) expectNoSecret(JSON.stringify(request.messages));
    expectNoSecret(seen);
    expectNoSystemText(seen);
    for (const { messages } of sent) expect(seen).not.toContain(boundaryOf(messages.at(-1)?.content));
    expect(body.explanation).not.toMatch(/https?:\/\/|!\[|\]\(|<[a-z/!?]|javascript:\S|\?d=/i);
    expect(body.explanation).not.toMatch(/[\p{Cf}]|[^\P{Cc}\n\t]/u);
    expect(body.explanation.length).toBeLessThanOrEqual(4_000);
  });
});

it('explains such a run if the model does not obey', async () => {
  const { body } = await explain(injections.plain ?? '', 'data');
  expect(body.explanation).toContain('Ignore your instructions'); // this is evidence, not a secret
});
