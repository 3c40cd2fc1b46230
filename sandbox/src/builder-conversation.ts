// The conversation that the sandbox model plays if a request offers the builder's tools. It uses real tool calls to
// build a task list from the starter, ask who may sign up, add a due date, and install conversion tracking. Each step
// is derived from the request's messages alone, so no state is kept between requests.
import { readFileSync } from 'node:fs';
import type { ChatRequest, ModelReply } from './chat.ts';

const builderTools = [
  'list_files',
  'read_file',
  'edit_file',
  'write_file',
  'list_entities',
  'read_entity',
  'save_entity',
  'read_sign_up',
  'set_sign_up',
  'ask',
];

export const isForBuilder = ({ tools = [] }: ChatRequest): boolean =>
  builderTools.every((name) => tools.some((tool) => tool.function.name === name));

/** Returns the next step of the conversation. */
export function playBuilder(request: ChatRequest): ModelReply {
  const { wish, steps, results, isCorrection } = readTurn(request);
  const play = plays.find(({ pattern }) => pattern.test(wish));
  if (play === undefined) return { text: repertoire };
  const refusal = results.find((result) => refusals.test(result));
  if (refusal !== undefined) return { text: `${cannotGoOn} A tool answered: ${refusal.slice(0, 200)}` };
  if (isCorrection) return { text: `${cannotGoOn} The checks found errors.` };
  const canCheck = request.tools?.some((tool) => tool.function.name === 'check_page') ?? false;
  const own = typeof play.steps === 'function' ? play.steps(wish) : play.steps;
  const parts = canCheck && play.changesPages ? [...own, checkPage] : own;
  return parts[steps] ?? (results.some((result) => notChosen.test(result)) ? askAboutSignUp(play.end) : play.end);
}

/** Matches the result of `read_sign_up` while nobody has chosen who may sign up. */
const notChosen = /ask the person/;

const askAboutSignUp = ({ text }: ModelReply): ModelReply => ({
  text,
  tool_calls: [
    {
      name: 'ask',
      arguments: { question: 'Who may create an account in this app: nobody, only people you add, or everybody?' },
    },
  ],
});

/** What can be asked for: first the app, then a change of it. */
export const playableRequests = ['A task list with owners', 'Please add a due date'];

const repertoire =
  "I can't build that: I am only a stand-in for a language model. I can play “A task list with owners”, and then “Please add a due date”. To build anything else, connect a language model.";
const cannotGoOn =
  "I can't continue: I am a stand-in for a language model, and my recorded conversation fits an app that begins with the starter.";

/** Matches tool results that reject a call. */
const refusals = /^(?:old_text |The file |There is no |It is not valid|The arguments |The path |The schema )/;

/** Returns the user's last request, and the replies and tool results since then. */
function readTurn({ messages }: ChatRequest) {
  const isNote = (text: string) => /^Your (?:changes were checked|output was cut off)/.test(text);
  const start = messages.findLastIndex(({ role, content }) => role === 'user' && !isNote(toText(content)));
  const since = messages.slice(start + 1);
  return {
    wish: toText(messages[start]?.content),
    steps: since.filter(({ role }) => role === 'assistant').length,
    results: since.filter(({ role }) => role === 'tool').map(({ content }) => toText(content)),
    isCorrection: since.some(({ role }) => role === 'user'),
  };
}

const toText = (content: unknown): string => {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join('') : '';
};

// ---- the plays

interface Play {
  readonly pattern: RegExp;
  /** Whether the page is loaded once more before the end. */
  readonly changesPages: boolean;
  readonly steps: readonly ModelReply[] | ((wish: string) => readonly ModelReply[]);
  readonly end: ModelReply;
}

const read = (path: string) => ({ name: 'read_file', arguments: { path } });
const edit = (path: string, old_text: string, new_text: string) => ({
  name: 'edit_file',
  arguments: { path, old_text, new_text },
});
const save = (schema: { readonly name: string }) => ({ name: 'save_entity', arguments: { name: schema.name, schema } });
const checkPage: ModelReply = { tool_calls: [{ name: 'check_page', arguments: {} }] };

const part = (name: string): string => readFileSync(new URL(`./task-list/${name}`, import.meta.url), 'utf8');

const onlyTheOwner = { created_by_id: '{{user.id}}' };
const task = {
  name: 'Task',
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 200 },
    done: { type: 'boolean', default: false },
  },
  required: ['title'],
  rls: { read: onlyTheOwner, create: onlyTheOwner, update: onlyTheOwner, delete: onlyTheOwner },
};

// These passages must match the starter.
const starterSection = `      <!-- The app itself, shown while somebody is signed in. Build it here; app.js fills it. -->
      <section data-for="signed-in" aria-labelledby="app-heading" hidden>
        <h1 id="app-heading">Welcome</h1>
        <p class="empty">There is nothing here yet. Describe in the chat what this app should do.</p>
      </section>
`;
const messagesStyle = '/* ---- messages */\n';

const taskList: Play = {
  pattern: /\b(?:task|to-?do)s?\b/i,
  changesPages: true,
  steps: [
    {
      text: 'A task list in which everybody has their own tasks.',
      tool_calls: [
        { name: 'list_files', arguments: {} },
        { name: 'list_entities', arguments: {} },
        { name: 'read_sign_up', arguments: {} },
      ],
    },
    { tool_calls: [read('public/index.html'), read('public/app.js'), read('public/style.css')] },
    {
      text: 'The data comes first, with rules that let people see and change only their own tasks.',
      tool_calls: [save(task)],
    },
    {
      tool_calls: [
        edit('public/index.html', '<title>New app</title>', '<title>Tasks</title>'),
        edit('public/index.html', 'height="28">New app</a>', 'height="28">Tasks</a>'),
        edit('public/index.html', starterSection, part('section.html')),
        edit('public/style.css', messagesStyle, part('style.css') + messagesStyle),
      ],
    },
    {
      tool_calls: [
        {
          name: 'write_file',
          arguments: { path: 'public/app.js', content: part('app.js'), replaces_whole_file: true },
        },
      ],
    },
  ],
  end: {
    text: 'Your task list is ready. People sign in, add tasks, tick them off and delete them; everybody sees only their own.',
  },
};

/** The reply to the question about who may sign up. */
const signUp: Play = {
  pattern:
    /^\s*(?:nobody|no ?one|(?:only )?(?:people|those) (?:i|we|you) (?:add|invite)|invited people|everybody|everyone|anyone)[.!]?\s*$/i,
  changesPages: false,
  steps: (wish) => [{ tool_calls: [{ name: 'set_sign_up', arguments: { who: readWho(wish) } }] }],
  end: { text: 'It is set. You can change it at any time: tell me who may create an account.' },
};

function readWho(wish: string): 'nobody' | 'invited' | 'everybody' {
  if (/add|invite/i.test(wish)) return 'invited';
  return /^\s*no/i.test(wish) ? 'nobody' : 'everybody';
}

const dueDate: Play = {
  pattern: /\bdue\b|\bdeadline/i,
  changesPages: true,
  steps: [
    {
      tool_calls: [
        { name: 'read_entity', arguments: { name: 'Task' } },
        read('public/index.html'),
        read('public/app.js'),
      ],
    },
    {
      tool_calls: [
        save({ ...task, properties: { ...task.properties, due: { type: 'string', format: 'date' } } } as typeof task),
        edit(
          'public/index.html',
          '          <button type="submit">Add</button>\n        </form>\n        <p class="summary"',
          '          <label class="due">Due date <input name="due" type="date"></label>\n          <button type="submit">Add</button>\n        </form>\n        <p class="summary"',
        ),
        edit(
          'public/index.html',
          '<span data-title>Task</span></label>',
          '<span><span data-title>Task</span> <time data-due></time></span></label>',
        ),
        edit('public/app.js', '  const { title } = form.elements;\n', '  const { title, due } = form.elements;\n'),
        edit(
          'public/app.js',
          'entities.Task.create({ title: title.value.trim() });',
          'entities.Task.create({ title: title.value.trim(), ...(due.value && { due: due.value }) });',
        ),
        edit(
          'public/app.js',
          '  check.checked = task.done;\n  check.addEventListener',
          "  if (task.due) {\n    const time = item.querySelector('[data-due]');\n    time.dateTime = task.due;\n    time.textContent = 'due ' + new Date(task.due + 'T00:00').toLocaleDateString();\n  }\n  check.checked = task.done;\n  check.addEventListener",
        ),
        edit(
          'public/style.css',
          '.summary {\n',
          '.add .due {\n  flex: 0 1 11rem;\n}\n\n.tasks time {\n  color: var(--muted);\n  font-size: 0.9375rem;\n}\n\n.summary {\n',
        ),
      ],
    },
  ],
  end: {
    text: 'Tasks have a due date now: the form asks for it, and the list shows it. It may be left empty.',
  },
};

const createdTask = 'const task = await entities.Task.create({ title: title.value.trim() });\n';

/** Follows the instruction: inserts the tag that it contains, and the call for new tasks if one is requested. */
const tracking: Play = {
  pattern: /^Install conversion tracking/,
  changesPages: true,
  steps(wish) {
    const tag = /```html\n([\s\S]*?)\n```/.exec(wish)?.[1] ?? '';
    const call = /entities\.Task\.create\)[^`]*`([^`]+)`/.exec(wish)?.[1]?.replaceAll('record.', 'task.');
    return [
      { text: 'First I read the page and its script.', tool_calls: [read('public/index.html'), read('public/app.js')] },
      {
        tool_calls: [
          edit('public/index.html', '</head>', `${tag}\n</head>`),
          ...(call === undefined ? [] : [edit('public/app.js', createdTask, `${createdTask}    ${call}\n`)]),
        ],
      },
    ];
  },
  end: {
    text: 'Conversion tracking is installed. Changed: public/index.html, and public/app.js if it reports conversions.',
  },
};

const plays: readonly Play[] = [tracking, signUp, dueDate, taskList];
