// Tests the assistant's tools and their refusals. Each known failure of file-editing agents has its own test.
import { describe, expect, it } from 'vitest';
import {
  callTools,
  listCalls,
  listMessages,
  listResults,
  say,
  startChatWorld,
  writeFile,
} from '../../../test/support/chat.ts';

const { scriptSteps, createApp, send, putFile, readFile, listPaths, getApp, world, token } = await startChatWorld();

/** Runs these calls in one turn, one per step, and returns their results. */
async function runTools(app: { id: string }, ...toolCalls: [string, object | string][]): Promise<string[]> {
  const requests = scriptSteps(...toolCalls.map((call) => callTools(call)), say());
  const got = await send(app);
  expect(got.status).toBe(200);
  return listResults(requests[toolCalls.length]);
}

const code = ['function add(a, b) {', '  return a + b;', '}', '', 'add(1, 2);', ''].join('\n');

describe('whole-file rewrites lose code silently', () => {
  it('so write_file is refused for a file that exists, unless the model says that it replaces the whole', async () => {
    const app = await createApp();
    await putFile(app, 'public/a.js', code);
    const [refused] = await runTools(app, writeFile('public/a.js', 'let a;'));
    expect(refused).toContain('The file exists. Change it with edit_file');
    expect(await readFile(app, 'public/a.js')).toBe(code);
    const [replaced] = await runTools(app, writeFile('public/a.js', 'let a;', { replaces_whole_file: true }));
    expect(replaced).toBe('Replaced the whole file.');
    expect(await readFile(app, 'public/a.js')).toBe('let a;');
  });

  it('so edit_file replaces one part and keeps the rest', async () => {
    const app = await createApp();
    await putFile(app, 'public/a.js', code);
    const edit = { path: 'public/a.js', old_text: 'return a + b;', new_text: 'return a - b;' };
    expect(await runTools(app, ['edit_file', edit])).toEqual(['Replaced at line 2.']);
    expect(await readFile(app, 'public/a.js')).toBe(code.replace('a + b', 'a - b'));
  });
});

describe('an exact match fails on white space, and the agent loops on the failing edit', () => {
  it('so the answer has the count of matches and the nearest lines', async () => {
    const app = await createApp();
    await putFile(app, 'public/a.js', `${code}add(1, 2);\n`);
    const edit = (old_text: string, more = {}): [string, object] => [
      'edit_file',
      { path: 'public/a.js', old_text, new_text: 'x', ...more },
    ];
    const [none, several] = await runTools(app, edit('  return a * b;'), edit('add(1, 2);'));
    expect(none).toContain(
      'old_text occurs 0 times in the file. The nearest lines, from line 1:\nfunction add(a, b) {',
    );
    expect(several).toContain('old_text occurs 2 times, at lines 5, 6.');
    expect(await runTools(app, edit('add(1, 2);', { replace_all: true }))).toEqual(['Replaced at 2 places.']);
  });

  it('so other line ends and spaces at the end of lines are tolerated, and the result says so', async () => {
    const app = await createApp();
    await putFile(app, 'public/a.js', 'let a = 1;  \r\nlet b = 2;\r\nlet c = 3;\r\n');
    const edit = { path: 'public/a.js', old_text: 'let a = 1;\nlet b = 2;', new_text: 'let a = 2;\nlet b = 1;' };
    const [result] = await runTools(app, ['edit_file', edit]);
    expect(result).toContain('It matched only after line ends and spaces at the end of lines were ignored.');
    expect(await readFile(app, 'public/a.js')).toBe('let a = 2;\r\nlet b = 1;\r\nlet c = 3;\r\n');
  });

  it('so after two failures in a row on a file its present text is handed back', async () => {
    const app = await createApp();
    await putFile(app, 'public/a.js', code);
    const edit = (old_text: string): [string, object] => [
      'edit_file',
      { path: 'public/a.js', old_text, new_text: 'y' },
    ];
    const [first, second] = await runTools(app, edit('nothing like it'), edit('nor this'));
    expect(first).not.toContain('present text');
    expect(second).toContain(`Its present text:\nLines 1 to 6 of 6.\n${code}`);
  });
});

it('elisions that are written as code are refused where code was, naming the line', async () => {
  const app = await createApp();
  await putFile(app, 'public/a.js', code);
  const results = await runTools(
    app,
    writeFile('public/a.js', 'let a;\n// ... existing code ...\n', { replaces_whole_file: true }),
    [
      'edit_file',
      { path: 'public/a.js', old_text: 'add(1, 2);', new_text: 'add(2, 3);\n// … rest of the code remains the same …' },
    ],
    writeFile('public/new.js', 'let a;\n// Spread: f(...args)\n'),
  );
  expect(results[0]).toContain(
    'Line 2 of your text is a placeholder for code that you left out: // ... existing code ...',
  );
  expect(results[1]).toContain('Line 2 of your text is a placeholder');
  expect(results[2]).toBe('Written.');
  expect(await readFile(app, 'public/a.js')).toBe(code);
});

it('tools have one name everywhere: those that the instructions name are those that the model is offered', async () => {
  const app = await createApp();
  const requests = scriptSteps(say());
  await send(app);
  const offered = (requests[0]?.tools ?? []).map((tool) => tool.function.name);
  expect(offered).toEqual([
    'list_files',
    'read_file',
    'search_files',
    'edit_file',
    'write_file',
    'delete_file',
    'list_entities',
    'read_entity',
    'save_entity',
    'read_sign_up',
    'set_sign_up',
    'check_page',
    'ask',
  ]);
  const named = String(requests[0]?.messages[0]?.content).match(/\b[a-z]+_(?:files?|entit\w+|page)\b/g) ?? [];
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !offered.includes(name))).toEqual([]);
});

it('large diffs are shown with the revision, and say where they are cut', async () => {
  const app = await createApp();
  const lines = (n: number) => Array.from({ length: n }, (_, line) => `let v${line} = ${line};`).join('\n');
  await putFile(app, 'public/a.js', 'let a = 1;\n');
  scriptSteps(
    callTools(
      ['edit_file', { path: 'public/a.js', old_text: 'let a = 1;', new_text: 'let a = 2;' }],
      writeFile('public/long.js', lines(2_000)),
    ),
    say(),
  );
  const saved = listCalls(await send(app)).find(({ name }) => name === 'save_revision');
  expect(saved?.results).toContain('--- a/public/a.js\n+++ b/public/a.js\n@@ -1,1 +1,1 @@\n-let a = 1;\n+let a = 2;');
  expect(saved?.results).toContain("Cut: the rest of this file's changes.");
  expect(saved?.results.length).toBeLessThan(20_000);
});

it('keys typed into client code are reported when they are written and when the turn ends', async () => {
  const app = await createApp();
  const content = `const key = 'sk_live_${'a1'.repeat(12)}';\n`;
  const requests = scriptSteps(callTools(writeFile('public/a.js', content)), say('Done.'), say('I leave it.'));
  const got = await send(app);
  expect(listResults(requests[1])[0]).toContain('Warning: line 1 seems to contain a Stripe secret key.');
  const checks = listCalls(got).filter(({ name }) => name === 'check_files');
  expect(checks.at(-1)).toMatchObject({ status: 'error' });
  expect(checks.at(-1)?.results).toContain('public/a.js: line 1: this seems to be a Stripe secret key');
  expect(got.text).not.toContain('system');
});

it('a failed turn leaves none of its edits', async () => {
  const app = await createApp();
  await putFile(app, 'public/a.js', code);
  const repeated = callTools(['read_file', { path: 'public/none.js' }]);
  scriptSteps(
    callTools(
      ['edit_file', { path: 'public/a.js', old_text: 'a + b', new_text: 'a - b' }],
      writeFile('public/b.js', 'let b;'),
    ),
    repeated,
  );
  const got = await send(app);
  expect(got.body.status).toMatchObject({ state: 'error', error_source: 'builder' });
  expect(await readFile(app, 'public/a.js')).toBe(code);
  expect(await listPaths(app)).toEqual(['public/a.js']);
  expect((await getApp(app)).revision).toBe(2);
});

describe('endless loops', () => {
  it('end at the third call with the same arguments while nothing changes, and the last message says why', async () => {
    const app = await createApp();
    const requests = scriptSteps(callTools(['read_file', { path: 'public/none.js' }]));
    const got = await send(app);
    expect(requests.length).toBe(3);
    expect(listCalls(got).map(({ status }) => status)).toEqual(['error', 'error', 'error']);
    expect(listMessages(got).at(-1)).toContain(
      'system: The assistant made the same call three times without making progress. Nothing was saved.',
    );
  });

  it('are not seen in calls between which something changes', async () => {
    const app = await createApp();
    const check: [string, object] = ['list_files', {}];
    const requests = scriptSteps(
      ...[1, 2, 3].flatMap((n) => [callTools(check), callTools(writeFile(`public/${n}.js`, 'let a;'))]),
      callTools(check),
      say(),
    );
    expect((await send(app)).body.status.state).toBe('ready');
    expect(requests.length).toBe(8);
  });

  it('are seen if an edit is done and undone again and again', async () => {
    const app = await createApp();
    await putFile(app, 'public/a.js', 'let a;');
    const edit = (from: string, to: string) =>
      callTools(['edit_file', { path: 'public/a.js', old_text: `let ${from};`, new_text: `let ${to};` }]);
    const requests = scriptSteps(...[1, 2, 3, 4].flatMap(() => [edit('a', 'b'), edit('b', 'a')]));
    expect((await send(app)).body.status.error_source).toBe('builder');
    expect(requests.length).toBeLessThan(8);
  });
});

describe('a call that the model got wrong', () => {
  it.each([
    ['an unknown tool', ['patch_file', {}], 'There is no tool with this name. The tools are: list_files, read_file'],
    ['arguments that are no JSON', ['read_file', '{"path": "a'], 'The arguments are not valid JSON'],
    ['arguments of another form', ['read_file', { file: 'a' }], 'The arguments are not valid:'],
    ['a path outside of the app', ['write_file', { path: '../a.js', content: 'x' }], 'The path must match'],
    ['a file that does not exist', ['read_file', { path: 'public/none.js' }], 'There is no file with this path.'],
    ['lines that end before they begin', ['read_file', { path: 'a', from_line: 3, to_line: 2 }], 'to_line must be'],
    ['a search for everything', ['search_files', { text: '**' }], 'The text must contain something beside *.'],
    ['an edit without a change', ['edit_file', { path: 'a', old_text: 'x', new_text: 'x' }], 'There is no file'],
  ] as const)('gets %s as a result, and the turn continues', async (_what, call, message) => {
    const app = await createApp();
    const [result] = await runTools(app, call as unknown as [string, object]);
    expect(result).toContain(message);
    expect((await getApp(app)).status.state).toBe('ready');
  });

  it('gets at most 16 calls of a step run', async () => {
    const app = await createApp();
    const many = Array.from({ length: 18 }, (_, n) => writeFile(`public/${n}.js`, 'let a;'));
    const requests = scriptSteps(callTools(...many), say());
    await send(app);
    expect(listResults(requests[1]).slice(15)).toEqual([
      'Written.',
      'Not run: at most 16 calls in one step. Calls that were not run, with this one: 2. Make them again.',
    ]);
    expect((await listPaths(app)).length).toBe(16);
  });

  it('gets calls beyond that recorded as one, and every call an id of its own', async () => {
    const app = await createApp();
    const many = Array.from({ length: 1_200 }, (_, n): [string, object] => ['read_file', { path: `${n}` }]);
    scriptSteps(callTools(...many), callTools(['list_files', {}]), say());
    const ids = listCalls(await send(app)).map(({ id }) => id);
    expect(ids).toEqual([...Array.from({ length: 17 }, (_, n) => `call_1_${n + 1}`), 'call_2_1']);
  });

  it("loses characters that the database can't store", async () => {
    const app = await createApp();
    await runTools(app, writeFile('public/a.txt', 'nul\0 and half \ud83d end'));
    expect(await readFile(app, 'public/a.txt')).toBe('nul and half \ufffd end');
  });

  it('cannot write more than a file may have', async () => {
    const app = await createApp();
    const [result] = await runTools(app, writeFile('public/a.txt', 'x'.repeat(5 * 1024 * 1024 + 1)));
    expect(result).toBe('A file can have at most 5242880 bytes.');
  });

  it('cannot write more than 20 MiB in a turn', async () => {
    const app = await createApp();
    const big = (n: number) => writeFile(`public/${n}.txt`, String(n).repeat(5 * 1024 * 1024 - 1));
    const results = await runTools(app, big(1), big(2), big(3), big(4), big(5));
    expect(results.at(-1)).toContain('This turn has written 20 MiB');
    expect((await listPaths(app)).length).toBe(4);
  });
});

describe('reading', () => {
  it('lists, reads and searches the draft, and says where it cuts', async () => {
    const app = await createApp();
    const long = Array.from({ length: 2_000 }, (_, n) => `line ${n + 1}`).join('\n');
    await putFile(app, 'public/long.txt', long);
    await putFile(app, 'public/b.js', 'fetch("/tasks");\nFETCH("/people");\n');
    const results = await runTools(
      app,
      writeFile('public/c.js', 'fetch("/c");\n'),
      ['list_files', { prefix: 'public/' }],
      ['list_files', { prefix: 'nothing' }],
      ['read_file', { path: 'public/long.txt' }],
      ['read_file', { path: 'public/long.txt', from_line: 1_999 }],
      ['read_file', { path: 'public/long.txt', from_line: 3, to_line: 4 }],
      ['read_file', { path: 'public/long.txt', from_line: 3_000 }],
      ['search_files', { text: 'fetch(*"' }],
      ['search_files', { text: 'fetch', ignore_case: true, prefix: 'public/b' }],
      ['search_files', { text: 'line 1' }],
      ['search_files', { text: 'nowhere to be found' }],
    );
    expect(results[1]).toBe(`public/b.js (35 bytes)\npublic/c.js (13 bytes)\npublic/long.txt (${long.length} bytes)`);
    expect(results[2]).toBe('No path begins so.');
    expect(results[3]).toContain('Lines 1 to 1500 of 2000. Cut here: read on with from_line 1501.\nline 1\n');
    expect(results[4]).toBe('Lines 1999 to 2000 of 2000.\nline 1999\nline 2000');
    expect(results[5]).toBe('Lines 3 to 4 of 2000.\nline 3\nline 4');
    expect(results[6]).toBe('The file has only 2000 lines.');
    expect(results[7]).toBe('public/b.js:1: fetch("/tasks");\npublic/c.js:1: fetch("/c");');
    expect(results[8]).toBe('public/b.js:1: fetch("/tasks");\npublic/b.js:2: FETCH("/people");');
    expect(results[9]).toContain('Cut: there may be more.');
    expect(results[10]).toBe('No line contains it.');
  });

  it('tells the model what to do instead of editing a large file, or of making one too large', async () => {
    const app = await createApp();
    await putFile(app, 'public/large.txt', 'a'.repeat(1024 * 1024 + 1));
    await putFile(app, 'public/small.txt', 'a'.repeat(1024 * 1024));
    const [large, tooLong, several, replaced] = await runTools(
      app,
      ['edit_file', { path: 'public/large.txt', old_text: 'a', new_text: 'b' }],
      ['edit_file', { path: 'public/small.txt', old_text: 'a', new_text: 'b'.repeat(100_000), replace_all: true }],
      ['edit_file', { path: 'public/small.txt', old_text: 'a', new_text: 'b' }],
      ['edit_file', { path: 'public/small.txt', old_text: 'a', new_text: 'bb', replace_all: true }],
    );
    expect(large).toBe(
      'Files above 1 MiB cannot be edited. Put what you change into a smaller file of its own, or replace the whole file with write_file.',
    );
    expect(tooLong).toBe('A file can have at most 5242880 bytes.');
    expect(several).toContain('old_text occurs more than 10 times, first at lines 1, 1,');
    expect(replaced).toBe('Replaced at 1048576 places.');
  });

  it('finds at most 100 lines, in however many files, and says so', async () => {
    const app = await createApp();
    for (const name of ['a', 'b']) await putFile(app, `public/${name}.txt`, 'here\n'.repeat(100));
    const [found = ''] = await runTools(app, ['search_files', { text: 'here' }]);
    const lines = found.split('\n');
    expect(lines).toHaveLength(101);
    expect(lines[100]).toBe('Cut: there may be more. Search for a longer text.');
  });

  it('tells the model that a binary file is not text, and keeps it', async () => {
    const app = await createApp();
    await world.call('PUT', `/api/apps/${app.id}/files/content?path=public/a.png`, {
      as: token,
      body: { content: 'AAEC', encoding: 'base64' },
    });
    const [read, edited, deleted] = await runTools(
      app,
      ['read_file', { path: 'public/a.png' }],
      ['edit_file', { path: 'public/a.png', old_text: 'a', new_text: 'b' }],
      ['delete_file', { path: 'public/a.png' }],
    );
    expect([read, edited]).toEqual(Array(2).fill('The file is not text (3 bytes).'));
    expect(deleted).toBe('Deleted.');
    expect(await listPaths(app)).toEqual([]);
  });
});

describe('entities', () => {
  const task = {
    properties: { title: { type: 'string' }, done: { type: 'boolean' } },
    rls: { read: true, create: { created_by_id: '{{user.id}}' } },
  };
  const putSchema = (app: { id: string }, schema: object) =>
    world.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, { as: token, body: { name: 'Task', ...schema } });

  it('are saved with the files in one revision, with what is closed and open in the result', async () => {
    const app = await createApp();
    const [saved, same, listed, read] = await runTools(
      app,
      ['save_entity', { name: 'Task', schema: task }],
      ['save_entity', { name: 'Task', schema: task }],
      ['list_entities', {}],
      ['read_entity', { name: 'Task' }],
      writeFile('public/a.js', 'let a;'),
    );
    expect(saved).toBe(
      "Created.\nNo rule: update, delete. Users of the app and anonymous callers can't do this until you write a rule.\nOpen to everybody, also without sign-in: read. Is this meant?\nHeld, because it would open data: read of Task, for callers who are not signed in. When you finish, this is not applied but proposed to the person, who decides. Say so in your summary. If it isn't meant, save the entity with narrower rules.",
    );
    expect(same).toBe('It is the same already.');
    expect(listed).toBe('Task: title, done');
    expect(JSON.parse(read ?? '')).toEqual({ name: 'Task', ...task });
    const got = await world.call('GET', `/api/apps/${app.id}/entity-schemas/Task`, { as: token });
    const savedRules = { create: task.rls.create };
    expect(got.body).toMatchObject({ revision: 2, schema: { name: 'Task', ...task, rls: savedRules } });
    expect((await getApp(app)).revision).toBe(2);
  });

  it('are not saved if they are not valid, and the result says what is wrong', async () => {
    const app = await createApp();
    const [fault, noName] = await runTools(
      app,
      [
        'save_entity',
        { name: 'Task', schema: { properties: { title: { type: 'text' } }, rls: { read: { nope: 1 } } } },
      ],
      ['read_entity', { name: 'Task' }],
    );
    expect(fault).toContain('It is not valid:\n- ');
    expect(noName).toBe('There is no entity with this name. List the entities.');
    expect((await getApp(app)).revision).toBe(1);
  });

  it('warn of what a change means for records that exist', async () => {
    const app = await createApp();
    await putSchema(app, { properties: { title: {}, state: {} }, rls: { read: false, write: false } });
    await world.call('POST', `/api/apps/${app.id}/entities/Task`, { as: token, body: { title: 'x', state: 'y' } });
    const schema = {
      properties: { title: { type: 'number' } },
      required: ['title'],
      rls: { read: true, write: false },
    };
    const [result] = await runTools(app, ['save_entity', { name: 'Task', schema }]);
    expect(result).toContain('Replaced.');
    expect(result).toContain('Removed fields: state.');
  });
});

describe('ask', () => {
  it('ends the turn with the question; the status is ready, and what was changed is saved', async () => {
    const app = await createApp();
    const requests = scriptSteps(callTools(writeFile('public/a.js', 'let a;')), {
      ...callTools(['ask', { question: 'Which colour?' }]),
      text: 'I have a question.',
    });
    const got = await send(app);
    expect(listMessages(got)).toEqual(['user: Build it', 'assistant: I have a question.\n\nWhich colour?']);
    expect(got.body.status.state).toBe('ready');
    expect(requests.length).toBe(2);
    expect(await listPaths(app)).toEqual(['public/a.js']);
  });
});

describe('sign-up', () => {
  const readSettings = async (app: { id: string }) =>
    (await world.call('GET', `/api/apps/${app.id}/auth/settings`, { as: token })).body;

  it('is read as not chosen until somebody chooses it, and set when the turn is saved', async () => {
    const app = await createApp();
    expect(await runTools(app, ['read_sign_up', {}])).toEqual([
      'Nobody can create an account. Nobody has chosen this: ask the person.',
    ]);
    expect(await runTools(app, ['set_sign_up', { who: 'everybody' }], ['read_sign_up', {}])).toEqual([
      "This applies when the turn is saved: Nobody can create an account. This installation can't send e-mail, which signing up requires. Tell the person.",
      "You chose in this turn: Nobody can create an account. This installation can't send e-mail, which signing up requires. Tell the person.",
    ]);
    expect(await readSettings(app)).toMatchObject({ sign_up: 'open', sign_up_in_effect: 'closed' });
    expect(await runTools(app, ['set_sign_up', { who: 'nobody' }])).toEqual([
      'This applies when the turn is saved: Nobody can create an account.',
    ]);
    expect(await runTools(app, ['read_sign_up', {}])).toEqual(['Nobody can create an account.']);
  });

  it('is saved even if the assistant says nothing, and the chat does not claim that nothing was changed', async () => {
    const app = await createApp();
    scriptSteps(callTools(['set_sign_up', { who: 'invited' }]), say(''));
    const got = await send(app);
    expect(await readSettings(app)).toMatchObject({ sign_up: 'invited' });
    expect(JSON.stringify(listMessages(got))).not.toContain('Nothing was changed');
  });

  it('is not overwritten if someone else changes it meanwhile', async () => {
    const app = await createApp();
    scriptSteps(callTools(['set_sign_up', { who: 'everybody' }]), async () => {
      await world.call('PATCH', `/api/apps/${app.id}/auth/settings`, { as: token, body: { sign_up: 'invited' } });
      return say('Everybody may.');
    });
    expect((await send(app)).body.status).toMatchObject({ state: 'error', error_source: 'builder' });
    expect(await readSettings(app)).toMatchObject({ sign_up: 'invited' });
  });

  it('stays as it is if the turn fails', async () => {
    const app = await createApp();
    scriptSteps(callTools(['set_sign_up', { who: 'everybody' }]), callTools(['list_files', {}]));
    expect((await send(app)).body.status.state).toBe('error');
    expect(await readSettings(app)).toMatchObject({ sign_up: 'closed' });
  });

  it('is not claimed to be open to everybody in an app that is not public', async () => {
    const app = await createApp();
    await world.call('PUT', `/api/apps/${app.id}`, { as: token, body: { public_settings: 'private_with_login' } });
    await runTools(app, ['set_sign_up', { who: 'everybody' }]);
    expect(await readSettings(app)).toMatchObject({ sign_up: 'open', sign_up_in_effect: 'closed' });
  });
});

describe('the check before the end', () => {
  it('gives errors back to the model once, and shows what the last check found as it is', async () => {
    const app = await createApp();
    const requests = scriptSteps(
      callTools(writeFile('public/a.js', 'let a = ;')),
      say('All is well.'),
      callTools(['edit_file', { path: 'public/a.js', old_text: 'let a = ;', new_text: 'let a = 1;' }]),
      say('Corrected.'),
    );
    const got = await send(app);
    expect(requests.length).toBe(4);
    expect(String(requests[2]?.messages.at(-1)?.content)).toContain('public/a.js: line 1: Unexpected token');
    const checks = listCalls(got).filter(({ name }) => name === 'check_files');
    expect(checks.map(({ status }) => status)).toEqual(['error', 'success']);
    expect(await readFile(app, 'public/a.js')).toBe('let a = 1;');
  });

  it('says so if the errors are still there, and saves what there is', async () => {
    const app = await createApp();
    const requests = scriptSteps(callTools(writeFile('public/a.json', '{')), say('Fine.'));
    const got = await send(app);
    expect(requests.length).toBe(3);
    expect(
      listCalls(got)
        .filter(({ name }) => name === 'check_files')
        .at(-1),
    ).toMatchObject({ status: 'error' });
    expect(got.body.status.state).toBe('ready');
    expect(await readFile(app, 'public/a.json')).toBe('{');
  });

  it('says that the page was not looked at where there is no browser', async () => {
    const app = await createApp();
    const results = await runTools(
      app,
      writeFile('public/index.html', '<!doctype html><title>x</title>'),
      ['check_page', {}],
      ['check_page', { path: '/none.html' }],
    );
    expect(results[1]).toBe('The page was not checked: this installation has no browser.');
    expect(results[2]).toBe('The page was not checked: /none.html is not a page of the app.');
  });
});

it('a model whose output was cut off continues, and is asked for less', async () => {
  const app = await createApp();
  const requests = scriptSteps({ text: 'I would like to', finish_reason: 'length' }, say('Done.'));
  const got = await send(app);
  expect(listMessages(got).at(-1)).toBe('assistant: I would like to\n\nDone.');
  expect(String(requests[1]?.messages.at(-1)?.content)).toContain('Your output was cut off');
});

it('what the model gets of a long turn is bounded: the oldest results are left out', async () => {
  const app = await createApp();
  const long = 'x'.repeat(39_000);
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) await putFile(app, `public/${n}.txt`, `${n} ${long}`);
  const requests = scriptSteps(
    callTools(
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((n): [string, object] => [
        'read_file',
        { path: `public/${n}.txt` },
      ]),
    ),
    say(),
  );
  await send(app);
  const results = listResults(requests[1]);
  expect(results[0]).toBe('(left out to save space; call the tool again if you need this)');
  expect(results.at(-1)).toContain(long);
  expect(results.join('').length).toBeLessThan(410_000);
});
