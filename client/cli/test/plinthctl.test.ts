// How plinthctl reads its command line, what it prints and how it ends, with the real server.
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { startWorld } from '../../../server/test/support/world.ts';
import { openTerminal, problemOf } from './plinthctl.ts';

const world = await startWorld();
const ada = await world.person('ada@example.com');
const workspace = await world.workspace(ada, 'enterprise');
const token = await world.token(ada, workspace);
const app = await world.appOf(ada, workspace, { name: 'Tea shop' });
const environment = { PLINTH_URL: world.url, PLINTH_TOKEN: token };
const { run, inTerminal } = await openTerminal(environment);

const lines = (text: string) => text.trim().split('\n');

describe('call', () => {
  it('calls an operation and prints its answer as one JSON document', async () => {
    const { status, json, stdout } = await run(['call', 'getMe']);
    expect({ status, email: json.user.email, lines: lines(stdout).length }).toEqual({
      status: 0,
      email: 'ada@example.com',
      lines: 1,
    });
  });

  it('turns flags into arguments of their types, from the command line, a file and stdin', async () => {
    const properties = { code: { type: 'string' }, count: { type: 'integer' }, tags: { type: 'array' } };
    const put = ['call', 'putEntitySchema', '--app_id', app.id, '--entity_name', 'Task', '--name', 'Task'];
    expect((await run([...put, '--properties', JSON.stringify(properties)])).status).toBe(0);
    const record = ['--app_id', app.id, '--entity_name', 'Task', '--body', '-'];
    const created = await run(['call', 'createRecord', ...record], { input: '{"code": "a", "count": 2}' });
    expect(created.json).toMatchObject({ code: 'a', count: 2 });
    const list = ['call', 'listRecords', '--app_id', app.id, '--entity_name', 'Task', '--limit', '1'];
    expect((await run([...list, '--jq', '.items[].code'])).stdout).toBe('a\n');
    expect(lines((await run([...list, '--every-page'])).stdout)).toHaveLength(1);
    const wrong = await run([...list.slice(0, -1), 'one']);
    expect([wrong.status, problemOf(wrong).detail]).toEqual([2, '--limit must be a number.']);
  });

  it('says which arguments are missing, and which operation was meant', async () => {
    const missing = await run(['call', 'getApp']);
    expect([missing.status, problemOf(missing).detail]).toEqual([
      2,
      'Missing: --app_id. Name the app, or change to a folder with plinth.json. Append --help to see what they are.',
    ]);
    const misspelt = await run(['call', 'getMee']);
    expect([misspelt.status, problemOf(misspelt).detail]).toMatchObject([2, /Did you mean getMe/]);
  });

  it('reports ignored fields on stderr', async () => {
    const { status, stderr } = await run([
      'call',
      'createRecord',
      '--entity_name',
      'Task',
      '--app_id',
      app.id,
      '--body',
      '{"colour": 1}',
    ]);
    expect([status, stderr]).toEqual([0, 'createRecord: colour had no effect\n']);
  });

  it('removes nothing without a terminal or --yes', async () => {
    const other = await world.appOf(ada, workspace);
    const remove = ['call', 'deleteApp', '--app_id', other.id];
    const refused = await run(remove);
    expect([refused.status, problemOf(refused).code]).toEqual([2, 'not_confirmed']);
    expect((await run(['call', 'getApp', '--app_id', other.id])).status).toBe(0);
    expect((await run([...remove, '--yes'])).status).toBe(0);
  });
});

describe.concurrent('help', () => {
  it('is shown for commands and operations, and says what plinth.json fills in', async () => {
    const [all, push, operation] = await Promise.all([
      run(['help']),
      run(['help', 'app', 'push']),
      run(['help', 'call', 'getRecord']),
    ]);
    expect([all.status, all.stdout]).toMatchObject([0, /Usage: plinthctl \[options\] \[command\].*help \[command/s]);
    expect([push.status, push.stdout]).toMatchObject([0, /Usage: plinthctl app push/]);
    expect(operation.stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /--app_id <text> .*? Filled from plinth.json. --entity_name/,
    );
  });

  it.for([
    ['after options with values', ['--profile', 'work', '--jq', '.id', 'help', 'app'], 'plinthctl app'],
    ['if the profile is called help', ['--profile', 'help', 'help', 'app'], 'plinthctl app'],
    ['with options of the command', ['help', 'app', 'push', '--delete'], 'plinthctl app push'],
    ['with --help', ['help', 'app', '--help'], 'plinthctl app'],
    ['of everything, with --help', ['help', '--help'], 'plinthctl'],
  ] as const)('is shown %s', async ([, args, usage], { expect }) => {
    const { status, stdout, stderr } = await run(args);
    expect([status, stdout, stderr]).toEqual([0, expect.stringContaining(`Usage: ${usage} [`), '']);
  });
});

describe.concurrent('a mistake on the command line', () => {
  it.for([
    ['a command', ['sttus'], 'Did you mean status?'],
    ['a subcommand', ['app', 'pubish'], 'Did you mean publish?'],
    ['a subcommand where another one is usual', ['profile', 'lst'], 'Did you mean list?'],
    ['an option', ['app', 'push', '--publsh'], 'Did you mean --publish?'],
    ['an operation', ['call', 'getMee'], 'Did you mean getMe?'],
    ['an argument of an operation', ['call', 'getRecord', '--entity-name', 'x'], 'Did you mean --entity_name?'],
    ['a topic of the help', ['help', 'sttus'], 'Did you mean status?'],
    ['a topic of the help, after an option', ['--profile', 'work', 'help', 'sttus'], 'Did you mean status?'],
    ['an error code', ['explain', 'rule_denid'], 'Did you mean rule_denied'],
  ] as const)('names what is most like %s', async ([, args, hint], { expect }) => {
    const ended = await run(args);
    expect([ended.status, ended.stdout]).toEqual([2, '']);
    expect(problemOf(ended).detail).toContain(hint);
  });
});

describe.concurrent('explain', () => {
  it('says what an error code means, and what to do', async () => {
    const { json } = await run(['explain', 'rule_denied']);
    expect(json).toEqual({ code: 'rule_denied', status: 403, meaning: expect.any(String), action: expect.any(String) });
  });

  it.for(['constructor', 'toString', '__proto__'])('refuses %s, which is no error code', async (code, { expect }) => {
    const ended = await run(['explain', code]);
    expect([ended.status, problemOf(ended).code, ended.stdout]).toEqual([2, 'no_code', '']);
  });
});

describe.concurrent('a person in a terminal', () => {
  it('is told that PLINTH_TOKEN comes before the profile, if it is refused', async () => {
    const { status, screen } = await inTerminal(['whoami'], { env: { PLINTH_TOKEN: 'plp_00wrong' } });
    expect([status, screen]).toMatchObject([4, /comes before the token of your profile.*unset PLINTH_TOKEN/]);
  });

  it('is asked before something is removed or spent, and nothing is done without a yes', async () => {
    const other = await world.appOf(ada, workspace, { name: 'Asked about' });
    const { status, screen } = await inTerminal(['call', 'deleteApp', '--app_id', other.id], { input: 'n\n' });
    expect([status, screen]).toMatchObject([2, /\. Continue\? \[y\/N\] .*Nothing was done\./s]);
    const asked = await run(['call', 'sendChatMessage', '--app_id', other.id, '--content', 'Hello']);
    expect(problemOf(asked).detail).toMatch(/ This may cost credits or money\. Nothing was done\. .*--yes\.$/);
    expect((await run(['call', 'getApp', '--app_id', other.id])).status).toBe(0);
  });
});

describe.concurrent('names instead of ids', () => {
  it('are found for apps, users, webhooks and records, and users can be impersonated', async () => {
    const { run } = await openTerminal(environment);
    const named = ['--app_id', 'Tea shop'];
    const user = ['call', 'createAppUser', ...named, '--email', 'eve@shop.example', '--full_name', 'Eve'];
    expect((await run(user)).status).toBe(0);
    const schema = { code: { type: 'string' } };
    const isAdmin = { user_condition: { role: 'admin' } };
    const rls = {
      read: { $or: [{ created_by_id: '{{user.id}}' }, isAdmin] },
      create: { created_by_id: '{{user.id}}' },
    };
    const put = ['call', 'putEntitySchema', ...named, '--entity_name', 'Own', '--name', 'Own'];
    await run([...put, '--properties', JSON.stringify(schema), '--rls', JSON.stringify(rls)]);
    const own = [...named, '--entity_name', 'Own'];
    const eve = ['--as-user', 'eve@shop.example'];
    const created = await run(['call', 'createRecord', ...own, '--body', '{"code": "e1"}', ...eve]);
    expect(created.json.created_by).toBe('eve@shop.example');
    const read = await run(['call', 'getRecord', ...own, '--entity_id', 'code=e1', ...eve]);
    expect(read.json.id).toBe(created.json.id);
    const change = ['call', 'updateRecord', ...own, '--entity_id', 'code=e1', '--body', '{"code": "e2"}', ...eve];
    const refused = await run(change);
    expect([refused.status, problemOf(refused).code]).toEqual([1, 'rule_denied']);
    const { json } = await run(['explain']);
    expect(json).toMatchObject({
      have: { role: 'owner' },
      rules: { decision: 'deny', principal: { kind: 'app_user' } },
    });
    const nobody = await run(['call', 'getRecord', ...own, '--entity_id', 'code=none']);
    expect([nobody.status, problemOf(nobody).detail]).toEqual([2, 'There is no record "code=none".']);
  });

  it('are not stored with a refusal if they are secret', async () => {
    const { run } = await openTerminal(environment);
    await run(['call', 'getInvitation', '--invitation_token', 'secret-token-of-nobody']);
    expect((await run(['explain'])).stdout).not.toContain('secret-token');
  });
});

describe.concurrent('status', () => {
  it('shows readiness, credits and failing webhooks, and names what could not be read', async () => {
    const { json, status } = await run(['status', '--app', 'Tea shop']);
    expect([status, json]).toMatchObject([0, { credits: { used: 0 }, app: { name: 'Tea shop' }, webhooks: [] }]);
    expect(json.readiness === null).toBe(json.unread.some((part: string) => part.startsWith('readiness')));
  });

  it('ends with one sentence if nothing answers, if something else does, or if the token is wrong', async () => {
    const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    await new Promise((done) => other.once('listening', done));
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const elsewhere = await run(['status'], { env: { PLINTH_URL: address } });
    expect([elsewhere.status, problemOf(elsewhere).detail]).toEqual([
      1,
      `What answers at ${address} is not Plinth. Check the address.`,
    ]);
    other.close();
    // No program listens on this port, and fetch does not block it.
    const closed = 'http://127.0.0.1:2';
    const nowhere = await run(['status'], { env: { PLINTH_URL: closed } });
    expect([nowhere.status, nowhere.stdout, lines(nowhere.stderr).length]).toEqual([75, '', 1]);
    expect(problemOf(nowhere).detail).toBe(
      `Nothing answers at ${closed}. The server can't be reached (ECONNREFUSED). Check the address, and that the installation is running.`,
    );
    const refused = await run(['status'], { env: { PLINTH_TOKEN: 'plp_00wrong' } });
    expect([refused.status, problemOf(refused).code]).toEqual([4, 'credentials_invalid']);
  });

  it('says if the installation has a newer version', async () => {
    for (const [version, isSaid] of [
      ['99.0.0', true],
      ['0.0.99', false],
    ] as const) {
      const server = createServer((_, response) => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ version }));
      }).listen(0, '127.0.0.1');
      await new Promise((done) => server.once('listening', done));
      const env = { PLINTH_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
      const { stderr } = await run(['status'], { env });
      expect(stderr.includes(`The installation has version ${version}`)).toBe(isSaid);
      server.close();
    }
  });
});

describe.concurrent('api', () => {
  it('sends a request to a path, with the key that the operation takes', async () => {
    const body = '{"name": "Made once"}';
    const create = ['api', 'post', '/api/apps', '--body', body, '--idempotency-key', 'once'];
    const [first, second] = [await run(create), await run(create)];
    expect(first.json.name).toBe('Made once');
    expect(second.json.id).toBe(first.json.id);
  });

  it('prints answers that are not JSON as they are', async () => {
    expect((await run(['api', 'GET', '/llms.txt'])).stdout).toMatch(/^# Plinth/);
  });

  it('sends the token to no other host', async () => {
    const { status, stderr } = await run(['api', 'GET', '@example.com/']);
    expect([status, stderr]).toMatchObject([2, /must begin with/]);
  });
});

describe.concurrent('the exit code', () => {
  it.for([
    ['4 without a token', { PLINTH_TOKEN: 'plp_00wrong' }, ['call', 'getMe'], 4, 'credentials_invalid'],
    ['1 for a refusal', {}, ['call', 'getApp', '--app_id', crypto.randomUUID()], 1, 'app_not_found'],
    ['2 for a command line that is wrong', {}, ['profile', 'use', 'nowhere'], 2, 'no_profile'],
    ['75 if the server cannot be reached', { PLINTH_URL: 'http://127.0.0.1:9' }, ['whoami'], 75, 'unreachable'],
  ] as const)('is %s', async ([, env, args, expected, code], { expect }) => {
    const ended = await run(args, { env });
    expect([ended.status, problemOf(ended).code, ended.stdout]).toEqual([expected, code, '']);
  });

  it('is 7 for a conflict', async () => {
    const sync = ['call', 'syncAppFiles', '--app_id', app.id, '--expected_revision', '99'];
    const ended = await run([...sync, '--files', '[{"path": "a.txt", "content": "a"}]']);
    expect([ended.status, problemOf(ended).code]).toEqual([7, 'revision_conflict']);
  });

  it('is 5 if nobody knows whether a change took effect, and 6 with --strict for a partial answer', async () => {
    const server = createServer((request, response) => {
      if (request.method === 'POST') return request.socket.destroy();
      response.setHeader('x-partial-result', 'credits');
      response.setHeader('content-type', 'application/json').end('{}');
    }).listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const env = { PLINTH_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const launched = await run(['call', 'createToken', '--name', 'x'], { env });
    expect([launched.status, problemOf(launched).outcome_unknown]).toEqual([5, true]);
    const partial = await run(['call', 'getMe', '--strict'], { env });
    expect([partial.status, partial.stderr]).toEqual([6, 'getMe: credits could not be read\n']);
    server.close();
  });
});

describe.concurrent('login', () => {
  it('keeps a token from stdin in a file of its own, which only its owner may read', async () => {
    const { run, folder } = await openTerminal();
    const login = ['login', '--url', `${world.url}/`, '--token-stdin'];
    const { status, json, stderr } = await run(login, { input: `${token}\n` });
    expect([status, json]).toMatchObject([0, { profile: 'default', url: world.url, email: 'ada@example.com' }]);
    const file = join(folder, 'config/plinth/credentials.json');
    expect(stderr).toContain(file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, 'config/plinth/config.json'), 'utf8')).not.toContain(token);
    expect((await run(['whoami'])).json.user.email).toBe('ada@example.com');
  });

  it.for([
    ['may only read', [], 'read_only'],
    ['may change things, with --write, and can be revoked', ['--write'], 'full_access'],
  ] as const)('asks a person for a token that %s', async ([, more, permission], { expect }) => {
    const { run, start } = await openTerminal();
    const child = start(['login', '--url', world.url, ...more]);
    let stderr = '';
    const closed = new Promise((done) => child.once('close', done));
    const code = await new Promise<string>((found) => {
      child.stderr?.on('data', (chunk) => {
        stderr += chunk;
        const [, code] = /type the code (\S+)\s/.exec(stderr) ?? [];
        if (code !== undefined) found(code);
      });
    });
    const path = `/api/auth/device/${code}/answer?workspaceId=${workspace}`;
    const headers = await world.session(ada);
    expect((await world.call('POST', path, { headers, body: { approve: true } })).status).toBe(200);
    expect(await closed).toBe(0);
    expect((await run(['whoami'])).json.credential.permission).toBe(permission);
    expect((await run(['logout'])).json).toMatchObject({ revoked: permission === 'full_access' });
    expect((await run(['whoami'])).status).toBe(4);
  });

  it('says what to do about a port that is blocked', async () => {
    const { run } = await openTerminal();
    const { status, stderr } = await run(['login', '--url', 'http://127.0.0.1:6000']);
    expect([status, JSON.parse(stderr)]).toMatchObject([2, { code: 'port_blocked', detail: /listen on another port/ }]);
  });

  it('sends its token to no other address', async () => {
    const { run } = await openTerminal();
    await run(['login', '--url', world.url, '--token-stdin'], { input: token });
    const elsewhere = await run(['whoami'], { env: { PLINTH_URL: 'http://127.0.0.1:9' } });
    expect([elsewhere.status, problemOf(elsewhere).code]).toEqual([4, 'not_logged_in']);
  });
});

describe.concurrent('profile', () => {
  it('lists, chooses and removes profiles', async () => {
    const { run } = await openTerminal();
    await run(['login', '--url', world.url, '--token-stdin'], { input: token });
    await run(['login', '--url', world.url, '--token-stdin', '--profile', 'second'], { input: token });
    const { json } = await run(['profile']);
    expect(json.items.map(({ name, current }: Record<string, unknown>) => [name, current])).toEqual([
      ['default', false],
      ['second', true],
    ]);
    await run(['profile', 'use', 'default']);
    expect((await run(['profile', 'remove', 'second', '--yes'])).status).toBe(0);
    expect((await run(['profile', '--jq', '.items[].name'])).stdout).toBe('default\n');
  });
});

describe.concurrent('completion', () => {
  beforeAll(async () => {
    const body = { name: 'Task', properties: { code: { type: 'string' } } };
    await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, { as: token, body });
    const webhook = { mode: 'pull', events: ['entity.created'], description: 'orders' };
    const created = await world.call('POST', `/api/apps/${app.id}/webhooks`, { as: token, body: webhook });
    expect(created.status, created.text).toBe(200);
  });

  const suggest = async (...words: string[]) => lines((await run(['__complete', ...words])).stdout);

  it.for([
    ['commands', ['au'], ['audit']],
    ['subcommands', ['app', 'pu'], ['publish', 'push']],
    ['options of a subcommand', ['app', 'push', '--p'], ['--profile', '--publish']],
    ['operations', ['call', 'getMe'], ['getMe']],
    ['options of an operation', ['call', 'getRevision', '--ag'], ['--against']],
    ['commands to get help for', ['help', 'app', 'pu'], ['publish', 'push']],
    ['error codes', ['explain', 'rule_d'], ['rule_denied']],
    ['names that the server knows', ['app', 'status', '--app', 'Tea'], ['Tea shop']],
    ['entities as arguments', ['records', 'import', '--app', 'Tea shop', 'Ta'], ['Task']],
    ['entities of an operation', ['call', 'listRecords', '--app_id', 'Tea shop', '--entity_name', 'T'], ['Task']],
    ['webhooks', ['webhooks', 'missing', '--app', 'Tea shop', 'or'], ['orders']],
  ] as const)('suggests %s', async ([, words, expected], { expect }) => {
    // Names are looked up for one second, which a busy machine may need for the first request.
    await expect.poll(() => suggest(...words)).toEqual(expected);
  });

  it.for(['bash', 'zsh', 'fish'])('prints a script for %s', async (shell, { expect }) => {
    expect((await run(['completion', shell])).stdout).toContain('plinthctl __complete');
  });

  it('works in bash, quotes names, and runs nothing that they contain', async () => {
    const script = (await run(['completion', 'bash'])).stdout;
    const complete = async (typed: string, suggested: string) => {
      const typing = `COMP_WORDS=(plinthctl app "$1"); COMP_CWORD=2; text=$2; plinthctl() { printf '%s\\n' "$text"; }; _plinthctl`;
      const bash = ['-c', `${script}${typing}; printf '%s\\n' "\${COMPREPLY[@]}"`, 'bash', typed, suggested];
      return lines((await promisify(execFile)('bash', bash)).stdout);
    };
    expect(await complete('pus', 'push\npublish')).toEqual(['push']);
    expect(await complete('', 'Tea shop\n$(echo run >&2; exit 1)')).toEqual([
      'Tea\\ shop',
      '\\$\\(echo\\ run\\ \\>\\&2\\;\\ exit\\ 1\\)',
    ]);
  });
});
