// Tests that a trigger is either read completely or rejected with its faults.
import { afterAll, describe, expect, it } from 'vitest';
import { openJq } from '../../../kit/jq/index.ts';
import { parseTrigger, toTrigger } from './trigger.ts';

const jq = openJq();
afterAll(() => jq.close());
const id = '0190f4e2-0000-7000-8000-000000000001';

const entity = { trigger_type: 'entity', entity_name: 'Task', event_types: ['create', 'delete'] };
const hourly = { trigger_type: 'scheduled', cron: '0 * * * *', timezone: 'Europe/Berlin' };

describe('parseTrigger', () => {
  it('accepts every type, and reads what was stored the same', async () => {
    for (const config of [
      { trigger_type: 'manual' },
      entity,
      hourly,
      { trigger_type: 'scheduled', every_minutes: 30, ends_after: 3 },
      { trigger_type: 'scheduled', at: '2030-01-01T00:00:00Z' },
      { trigger_type: 'webhook' },
      { trigger_type: 'app_publish' },
      { trigger_type: 'agent_message', agent_id: id, event: 'message.completed' },
      { trigger_type: 'event', type: 'order.paid' },
    ]) {
      expect(await parseTrigger({ config }, jq)).toEqual({ ok: { config } });
      expect(toTrigger({ config })).toEqual({ config });
    }
  });

  it('reads a condition with or without the signs of an expression', async () => {
    const config = entity;
    expect(await parseTrigger({ config, condition: '.data.x > 1' }, jq)).toEqual({
      ok: { config, condition: '.data.x > 1' },
    });
    const wrapped = { config, condition: '${ .data.x > 1 }' };
    expect(await parseTrigger(wrapped, jq)).toEqual({ ok: { config, condition: ' .data.x > 1 ' } });
    expect(toTrigger(wrapped)).toEqual({ config, condition: ' .data.x > 1 ' });
  });

  const faulty: [source: unknown, path: string, message: RegExp][] = [
    [null, '', /object/],
    [{}, '/config', /required/],
    [{ config: {} }, '/config/trigger_type', /required/],
    [{ config: { trigger_type: 'push' } }, '/config/trigger_type', /must be one of manual, entity/],
    [{ config: { trigger_type: 'toString' } }, '/config/trigger_type', /one of/],
    [{ config: { trigger_type: 'manual' }, name: 1 }, '/name', /not supported here/],
    [{ config: { trigger_type: 'manual', cron: 'x' } }, '/config/cron', /not supported here/],
    [{ config: { trigger_type: 'webhook', hook_url: 'x' } }, '/config/hook_url', /not supported here/],
    [{ config: { ...entity, entity_name: '1' } }, '/config/entity_name', /entity name/],
    [{ config: { ...entity, event_types: [] } }, '/config/event_types', /at least one/],
    [{ config: { ...entity, event_types: ['create', 'create'] } }, '/config/event_types', /duplicate/],
    [{ config: { ...entity, event_types: ['create', 'created'] } }, '/config/event_types/1', /one of create/],
    [
      { config: { trigger_type: 'agent_message', agent_id: 'x', event: 'message.created' } },
      '/config/agent_id',
      /id of an agent/,
    ],
    [{ config: { trigger_type: 'agent_message', agent_id: id, event: 'created' } }, '/config/event', /one of message/],
    [{ config: { trigger_type: 'event', type: 'a b' } }, '/config/type', /letters/],
    [{ config: { trigger_type: 'scheduled' } }, '/config', /exactly one of/],
    [{ config: { ...hourly, cron: '* * * * *' } }, '/config/cron', /less than 5 minutes apart/],
    [{ config: { ...hourly, timezone: undefined } }, '/config/timezone', /required with cron/],
    [{ config: { ...hourly, timezone: 'X' } }, '/config/timezone', /time zone/],
    [{ config: { trigger_type: 'scheduled', every_minutes: 4 } }, '/config/every_minutes', /must be at least 5/],
    [{ config: { trigger_type: 'scheduled', every_minutes: '5' } }, '/config/every_minutes', /must be a number/],
    [{ config: { trigger_type: 'scheduled', at: 5 } }, '/config/at', /must be a string/],
    [{ config: { ...hourly, interval: 5 } }, '/config/interval', /not supported here/],
    [{ config: entity, condition: '' }, '/condition', /at least 1/],
    [{ config: entity, condition: true }, '/condition', /string/],
    [{ config: entity, condition: '\0' }, '/condition', /NUL/],
  ];
  it.each(faulty)('refuses %j', async (source, path, message) => {
    const parsed = await parseTrigger(source, jq);
    const faults = 'faults' in parsed ? parsed.faults : [];
    expect(faults).toContainEqual({ path, code: 'definition_syntax', message: expect.stringMatching(message) });
    for (const each of faults) expect(each.message).toMatch(/^(must|is) /);
  });

  it('refuses a condition that does not compile, and has no variables in it', async () => {
    for (const condition of ['.a >', '$input.a', '$secrets.KEY', 'now', '${ 1'])
      expect(await parseTrigger({ config: entity, condition }, jq)).toMatchObject({
        faults: [{ path: '/condition', code: 'expression_syntax' }],
      });
  });

  it('throws for a stored trigger that is not valid', () => {
    for (const stored of [null, {}, { config: { trigger_type: 'x' } }, { config: { ...hourly, cron: 5 } }])
      expect(() => toTrigger(stored)).toThrow('a stored trigger is invalid');
  });
});
