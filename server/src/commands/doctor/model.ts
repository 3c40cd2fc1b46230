// The trial of the language model for `plinth doctor --model`: a streamed tool call, an exact edit with the builder's own
// tools, and the longest prompt. All requests go through the product's gateway. docs/operate/configure.md#language-model
// states their number and size.
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { createFileTools, type FileSpace } from '../../core/turns/file-tools.ts';
import { toTokens } from '../../core/turns/messages.ts';
import { type AgentTool, runCall } from '../../core/turns/tools.ts';
import {
  type CompletedStep,
  type LanguageModel,
  openLanguageModel,
  type StepMessage,
  type StepRequest,
  type UnavailableReply,
} from '../../gateways/language-model/index.ts';
import { broken, type CheckContext, describeReason, missing, type PartResult, readSetting, works } from './check.ts';

export interface ModelTrial {
  readonly parts: readonly PartResult[];
  /** One sentence: whether this model can build apps. */
  readonly verdict: string;
  readonly canBuildApps: boolean;
  /** The size of the longest prompt that was answered correctly, and of the first one that was not. */
  readonly longestPromptTokens: number | null;
  readonly failedPromptTokens: number | null;
  readonly cost: Cost;
}

export interface Cost {
  requests: number;
  promptTokens: number;
  completionTokens: number;
  /** Whether the server did not report the tokens of every request. Those are estimated from the length. */
  isEstimated: boolean;
}

const requestTimeoutMs = 120_000;
const maxEditSteps = 6;
/** Each prompt is about twice as long as the one before. The last is as long as the builder's prompts become. */
const contextSizes = [8_000, 16_000, 32_000, 64_000, 110_000] as const;
const ceilingTokens = 110_000;
/** The builder's instructions, its tools and a few files of an app need this much. */
const neededTokens = 32_000;
const charactersPerToken = 4;

/** Never throws. */
export async function tryModel(context: CheckContext): Promise<ModelTrial> {
  const cost: Cost = { requests: 0, promptTokens: 0, completionTokens: 0, isEstimated: false };
  try {
    return await runTrial(context, cost);
  } catch (error) {
    const reason = describeReason(error, context);
    return conclude(cost, `Whether this model can build apps could not be found out: ${reason}.`, [
      { part: 'model trial', ...broken(`It could not be finished: ${reason}.`) },
    ]);
  }
}

async function runTrial(context: CheckContext, cost: Cost): Promise<ModelTrial> {
  const url = readSetting(context, 'MODEL_URL');
  if (url === undefined)
    return conclude(cost, 'No model is configured, so no app can be built by chat: set MODEL_URL.', [
      { part: 'model trial', ...missing('There is no model to try. Set MODEL_URL.') },
    ]);
  const [apiKey, name] = [readSetting(context, 'MODEL_API_KEY'), readSetting(context, 'MODEL_NAME')];
  const ask = createAsk(openLanguageModel({ url, apiKey, name }), cost);

  const edited = await tryEdit(ask);
  if (edited.fault !== undefined) return conclude(cost, `This model can't build apps: ${edited.fault}.`, edited.parts);
  const { part, verdict, sizes } = await tryContext(ask);
  return { ...conclude(cost, verdict, [...edited.parts, part]), ...sizes };
}

function conclude(cost: Cost, verdict: string, parts: readonly PartResult[]): ModelTrial {
  const canBuildApps = parts.every(({ outcome }) => outcome === 'works');
  return { parts, verdict, canBuildApps, longestPromptTokens: null, failedPromptTokens: null, cost };
}

type Ask = (
  messages: readonly StepMessage[],
  options?: Pick<StepRequest, 'tools' | 'maxOutputTokens'>,
) => Promise<CompletedStep | UnavailableReply>;

/** Counts what each request costs. */
function createAsk(model: LanguageModel, cost: Cost): Ask {
  return async (messages, { tools, maxOutputTokens } = { tools: [] }) => {
    const signal = AbortSignal.timeout(requestTimeoutMs);
    const reply = await model.step({ model: null, instructions, messages, tools, maxOutputTokens, signal }, () => {});
    cost.requests += 1;
    if (reply.outcome === 'completed' && reply.usage !== null) {
      cost.promptTokens += reply.usage.prompt_tokens;
      cost.completionTokens += reply.usage.completion_tokens;
    } else {
      cost.isEstimated = true;
      // A refused request usually costs nothing, but nobody says so.
      cost.promptTokens += toTokens(JSON.stringify(messages).length);
      if (reply.outcome === 'completed') cost.completionTokens += toTokens(reply.content.length);
    }
    return reply;
  };
}

const instructions =
  'This is a trial of what you can do, by the command "plinth doctor". Do exactly what is asked, with the tools that you are given, and nothing else. Be brief.';

// ---- the tool call and the edit

const path = 'public/prices.js';
const lineCount = 200;
const wanted = { article: 'article-137', from: 2_369, to: 4_995 };

/** Lines that differ little, so an edit that is not exact is refused or changes another line. */
const sampleFile = [
  '// The prices of the shop, in cents.',
  'export const prices = {',
  ...Array.from({ length: lineCount - 3 }, (_, index) => {
    const article = `article-${String(index + 1).padStart(3, '0')}`;
    return `  '${article}': ${article === wanted.article ? wanted.from : 1_000 + (((index + 1) * 37) % 900) * 10},`;
  }),
  '};',
].join('\n');
const line = (price: number) => `  '${wanted.article}': ${price},`;
const expectedFile = sampleFile.replace(line(wanted.from), line(wanted.to));

interface TrialFile {
  text: string;
}

const { readFile, editFile } = createFileTools<TrialFile>(
  z.string().min(1).max(400).describe('For example public/index.html'),
  (file): FileSpace => ({
    maxFileBytes: 1024 * 1024,
    maxTurnMib: 20,
    writtenBytes: 0,
    editFailures: new Map(),
    readers: 'Everybody who opens the app',
    read: async (name) => (name === path ? { text: file.text } : undefined),
    write: async (_path, text) => {
      file.text = text;
    },
    remove: async () => false,
  }),
);
const tools: readonly AgentTool<TrialFile>[] = [readFile, editFile];

/** `fault` continues the sentence "This model can't build apps: …". Undefined if the edit was exact. */
async function tryEdit(ask: Ask): Promise<{ parts: PartResult[]; fault: string | undefined }> {
  const file: TrialFile = { text: sampleFile };
  const messages: StepMessage[] = [
    {
      role: 'user',
      content: `In ${path}, change the price of ${wanted.article} to ${wanted.to}. Read the file with read_file first, then change it with edit_file, and change nothing else. When it is done, answer "done" without calling a tool.`,
    },
  ];
  const toolCalls = 'model tool calls';
  const edits = 'model edits';
  for (let step = 1; step <= maxEditSteps; step += 1) {
    const reply = await ask(messages, { tools });
    if (reply.outcome === 'unavailable') {
      const fault = describeUnavailable(reply);
      return { parts: [{ part: step === 1 ? toolCalls : edits, ...broken(`There was no reply: ${fault}.`) }], fault };
    }
    if (step === 1) {
      const fault = findCallFault(reply);
      if (fault !== undefined)
        return { parts: [{ part: toolCalls, ...broken(`The model did not call a tool: ${fault}.`) }], fault };
    }
    messages.push({ role: 'assistant', content: reply.content, tool_calls: reply.tool_calls });
    for (const call of reply.tool_calls) {
      const { status, result } = await runCall(tools, call, file);
      const about = { tool_call_id: call.id, tool_name: call.name, is_error: status === 'error' };
      messages.push({ role: 'tool', content: result, ...about });
    }
    if (reply.tool_calls.length === 0) break;
  }
  const called: PartResult = { part: toolCalls, ...works('It called a tool with valid arguments, in a stream.') };
  if (file.text === expectedFile)
    return {
      parts: [called, { part: edits, ...works(`It changed one line of ${lineCount}, and nothing else.`) }],
      fault: undefined,
    };
  const fault =
    file.text === sampleFile
      ? `it did not change a file as it was asked to, within ${maxEditSteps} steps`
      : 'its edit of a file was not what was asked for';
  return { parts: [called, { part: edits, ...broken(`The file is not as it should be: ${fault}.`) }], fault };
}

/** What is wrong with the first reply, which must call `read_file`. */
function findCallFault({ tool_calls, content, is_cut }: CompletedStep): string | undefined {
  if (tool_calls.length === 0)
    return is_cut && content === ''
      ? 'its reply was cut off before it began'
      : 'it answered with text instead of calling the tool';
  const call = tool_calls.find(({ name }) => name === readFile.name);
  if (call === undefined) return 'it called another tool than it was asked to';
  return readFile.parameters.safeParse(parseJson(call.arguments_string)).success
    ? undefined
    : 'the arguments of its tool call were not valid';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const unavailableReasons: Readonly<Record<UnavailableReply['reason'], string>> = {
  off: 'no model is configured',
  unreachable: "its server can't be reached",
  refused: 'its server refused the request (see the line "model" for the key, and compare MODEL_NAME)',
  rejected: 'its server rejected a request with tools as invalid',
  cut: 'its server ended a reply before it was complete',
  malformed: 'the replies of its server do not follow the chat completions protocol with streaming',
  timeout: `it did not reply within ${requestTimeoutMs / 1000} seconds`,
  cancelled: `it did not reply within ${requestTimeoutMs / 1000} seconds`,
};

const describeUnavailable = ({ reason }: UnavailableReply): string => unavailableReasons[reason];

// ---- the longest prompt

const filler =
  'The baker opens the shop early in the morning and puts warm bread on the shelves before the first customers arrive.\n';

/** A server that silently drops the beginning of a long prompt can't answer with the code word. */
function writeLongPrompt(tokens: number, codeWord: string): string {
  const first = `The code word is ${codeWord}.\n`;
  const last = 'Answer with the code word of the first line, and nothing else.';
  const length = tokens * charactersPerToken - first.length - last.length - instructions.length;
  return first + filler.repeat(Math.ceil(length / filler.length)).slice(0, length) + last;
}

async function tryContext(ask: Ask) {
  let longest = 0;
  let failed: { readonly tokens: number; readonly why: string } | undefined;
  for (const tokens of contextSizes) {
    const codeWord = randomBytes(4).toString('hex');
    const content = writeLongPrompt(tokens, codeWord);
    // Models that reason before they answer need more than the code word.
    const reply = await ask([{ role: 'user', content }], { tools: [], maxOutputTokens: 1_024 });
    if (reply.outcome === 'completed' && reply.content.includes(codeWord)) {
      longest = reply.usage?.prompt_tokens ?? tokens;
      continue;
    }
    const isRejected = reply.outcome === 'unavailable' && reply.reason === 'rejected';
    const why =
      reply.outcome === 'completed'
        ? 'was answered, but its beginning was forgotten'
        : isRejected
          ? 'was refused'
          : `got no reply: ${describeUnavailable(reply)}`;
    failed = { tokens, why };
    break;
  }
  const sizes = { longestPromptTokens: longest || null, failedPromptTokens: failed?.tokens ?? null };
  return { ...judgeContext(longest, failed), sizes };
}

function judgeContext(longest: number, failed: { readonly tokens: number; readonly why: string } | undefined) {
  const part = 'model context';
  const skills = 'it calls tools in a stream and edits a file exactly';
  if (failed === undefined)
    return {
      part: {
        part,
        ...works(`A prompt of ${format(longest)} tokens was answered, which is as long as Plinth's become.`),
      },
      verdict: `This model can build apps: ${skills}, and it reads ${format(longest)} tokens at once.`,
    };
  const limit = `a prompt of about ${format(failed.tokens)} tokens ${failed.why}`;
  const found = `${longest > 0 ? `One of ${format(longest)} tokens was answered, but ` : ''}${limit}`;
  if (longest >= neededTokens * tolerance)
    return {
      part: { part, ...works(`${capitalize(found)}. Plinth sends up to ${format(ceilingTokens)}.`) },
      verdict: `This model can build small apps: ${skills}, but ${limit}, so long chats about large apps fail.`,
    };
  return {
    part: {
      part,
      ...broken(`${capitalize(found)}. Plinth needs ${format(neededTokens)}: choose a model with a longer context.`),
    },
    verdict: `This model can't build apps: ${skills}, but ${limit}, and Plinth needs ${format(neededTokens)}.`,
  };
}

/** Tokenisers differ, so a prompt of 32,000 estimated tokens may count as fewer. */
const tolerance = 0.6;

const format = (count: number): string => count.toLocaleString('en-GB');
const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
