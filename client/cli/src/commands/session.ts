// `plinthctl session`: lets an agent change the repository of an app, and follows and answers it.

import type { CodingSession, InputRequest, PlinthApp, SessionLogLine } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError } from '../exit.ts';
import { type AppOption, appOption, collect } from '../options.ts';
import { clean, colour, facts, wrap } from '../output.ts';

interface LaunchOptions extends AppOption {
  readonly title?: string;
  readonly branch?: string;
  readonly watch?: boolean;
}

interface AnswerOptions extends AppOption {
  readonly approve?: boolean;
  readonly deny?: boolean;
  readonly choose?: readonly string[];
  readonly text?: string;
}

const sessionArgument = ['[session]', 'the id of a session; by default the newest one'] as const;

export const define: Define = (command, cli) => {
  command
    .command('launch')
    .description('Let an agent carry out a task in the repository, and open a pull request; this costs credits')
    .argument('<task>', 'what to do, in your words')
    .option(...appOption)
    .option('--title <text>', 'the title of the pull request; by default the first line of the task')
    .option('--branch <name>', 'an existing branch to work on')
    .option('--watch', 'follow the session until it ends')
    .action((task: string, options: LaunchOptions) => launch(cli, task, options));
  command
    .command('watch')
    .description('Follow a session until it ends, or needs an answer')
    .argument(...sessionArgument)
    .option(...appOption)
    .action(async (session: string | undefined, { app: named }: AppOption) => {
      const { app } = await cli.connectToApp(named);
      await watch(cli, app, session ?? (await findNewest(app)).id);
    });
  command
    .command('answer')
    .description('Answer the question of a session, or approve what it asks for')
    .argument(...sessionArgument)
    .option(...appOption)
    .option('--approve', 'approve the action')
    .option('--deny', 'let the agent continue without it')
    .option('--choose <option>', 'the option to choose, once for each question in order', collect)
    .option('--text <text>', 'an answer in your own words')
    .action((session: string | undefined, options: AnswerOptions) => answer(cli, session, options));
};

async function launch(cli: Cli, prompt: string, { app: named, title, branch, watch: isWatched }: LaunchOptions) {
  await cli.prompts.confirm('A coding session costs at least 2 credits.');
  const { app } = await cli.connectToApp(named);
  const session = await app.launchSession({
    prompt,
    title: title ?? (prompt.split('\n', 1)[0] ?? '').slice(0, 200),
    ...(branch !== undefined && { existing_branch: branch }),
  });
  if (isWatched) return watch(cli, app, session.id);
  await cli.output.show(session, () => `${describe(session)}\n\nFollow it with: plinthctl session watch`);
}

async function watch(cli: Cli, app: PlinthApp, session_id: string): Promise<void> {
  for await (const { event, data } of app.streamSession({ session_id }, { signal: cli.signal }).stream()) {
    await cli.output.line({ event, data }, () => describeEvent(event, data));
    // Nothing happens until somebody answers.
    if (event === 'state' && data.state === 'needs_input') {
      const { input_request } = await app.getInputRequest({ session_id });
      if (input_request !== null)
        cli.output.say(`${describeRequest(input_request)}\n\nAnswer with: plinthctl session answer`);
      return;
    }
  }
}

function describeEvent(event: string, data: CodingSession | InputRequest | SessionLogLine): string {
  if (event === 'log') return clean((data as SessionLogLine).text);
  if (event === 'input_request') return colour('yellow', describeRequest(data as InputRequest));
  return describe(data as CodingSession);
}

const describe = ({
  title,
  state,
  branch_name,
  pull_request,
  summary,
  error_code,
  session_url,
}: CodingSession): string =>
  facts({
    session: title,
    state: state.replaceAll('_', ' '),
    branch: branch_name ?? undefined,
    'pull request': pull_request?.html_url,
    summary: summary ?? undefined,
    error: error_code ?? undefined,
    page: session_url ?? undefined,
  });

const describeRequest = ({ approval, questions }: InputRequest): string =>
  clean(
    approval !== null
      ? `${wrap(`${approval.title}: ${approval.description}`)}\n\n${approval.details}`
      : questions
          .map(({ text, options }) => [wrap(text), ...options.map(({ label }) => `  - ${label}`)].join('\n'))
          .join('\n\n'),
  );

async function answer(cli: Cli, wished: string | undefined, options: AnswerOptions): Promise<void> {
  const { app } = await cli.connectToApp(options.app);
  const session_id = wished ?? (await findNewest(app)).id;
  const { input_request } = await app.getInputRequest({ session_id });
  const reply = input_request === null ? sayOnly(options) : replyTo(input_request, options);
  const message = await app.sendSessionMessage({ session_id, ...reply });
  await cli.output.show(message, () => 'Sent. Follow the session with: plinthctl session watch');
}

function sayOnly({ text }: AnswerOptions) {
  if (text === undefined)
    throw new CommandError('The session asks nothing now. To write to it, pass --text.', 'nothing_to_answer');
  return { text };
}

function replyTo(request: InputRequest, { approve, deny, choose = [], text }: AnswerOptions) {
  const { input_request_id, approval, questions } = request;
  if (approval !== null) {
    if (approve === deny)
      throw new CommandError(`${describeRequest(request)}\n\nPass --approve or --deny.`, 'no_answer');
    return { input_request_id, approve: approve === true };
  }
  if (choose.length !== questions.length && !(choose.length === 0 && text !== undefined))
    throw new CommandError(
      `${describeRequest(request)}\n\nPass --choose once for each question, or --text.`,
      'no_answer',
    );
  return {
    input_request_id,
    answers: questions.map(({ question_index, multi_select }, index) => {
      const label = choose[index];
      if (label === undefined) return { question_index, custom_text: text ?? '' };
      return { question_index, ...(multi_select ? { selected_labels: label.split(',') } : { selected_label: label }) };
    }),
  };
}

async function findNewest(app: PlinthApp): Promise<CodingSession> {
  const [newest] = await app.listSessions({ limit: 1 }).take(1);
  if (newest === undefined) throw new CommandError('The app has no session yet.', 'not_found');
  return newest;
}
