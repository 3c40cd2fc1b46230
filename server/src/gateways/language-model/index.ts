// The client for language models. It works with any server that implements the OpenAI chat completions protocol,
// at the operator's configured address and with the operator's key. If the model can't reply, the reason is returned,
// not thrown.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  type LanguageModelMiddleware,
  type ModelMessage,
  stepCountIs,
  streamText,
  type TextStreamPart,
  type ToolSet,
  tool,
  wrapLanguageModel,
} from 'ai';
import type { z } from 'zod';

/** The tool's description for the model. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodType;
}

export interface Tool extends ToolDescription {
  /** Returns the result for the model. If this throws, the error is passed to the model, and the reply continues. */
  run(input: unknown): Promise<string>;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments_string: string;
  readonly status: 'running' | 'success' | 'error';
  readonly results: string | null;
}

export interface ReplyRequest {
  /** Null means the installation's default model. */
  readonly model: string | null;
  readonly instructions: string;
  readonly messages: readonly { role: 'user' | 'assistant'; content: string }[];
  readonly tools: readonly Tool[];
  readonly signal: AbortSignal;
}

/**
 * A part of a reply. The reply's content is all texts, joined in order. A tool call is sent when it starts and when it
 * ends.
 */
export type ReplyDelta = { readonly text: string } | { readonly tool_call: ToolCall };

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

export interface CompletedReply {
  readonly outcome: 'completed';
  readonly content: string;
  readonly tool_calls: readonly ToolCall[];
  /** Null if the server does not report usage. */
  readonly usage: Usage | null;
  readonly model: string;
}

export interface UnavailableReply {
  readonly outcome: 'unavailable';
  /**
   * `off` means that no model is configured. `refused` means that the server currently serves no one, or does not serve
   * us. `rejected` means that the server does not accept this request, for example because it is too long. `cut` means
   * that the connection ended before the reply was complete.
   */
  readonly reason: 'off' | 'unreachable' | 'refused' | 'rejected' | 'cut' | 'malformed' | 'timeout' | 'cancelled';
}

/** A tool call requested by the model. The arguments may be malformed, and the tool may not exist. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments_string: string;
}

export type StepMessage =
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly tool_calls: readonly RequestedCall[] }
  | {
      readonly role: 'tool';
      readonly tool_call_id: string;
      readonly tool_name: string;
      readonly content: string;
      readonly is_error: boolean;
    };

export interface StepRequest {
  /** Null means the installation's default model. */
  readonly model: string | null;
  readonly instructions: string;
  /** Every tool call must be followed by its result. */
  readonly messages: readonly StepMessage[];
  readonly tools: readonly ToolDescription[];
  /** Default: 8,192. */
  readonly maxOutputTokens?: number;
  readonly signal: AbortSignal;
}

/** The model's reply to one call. The caller runs the tools, and sends their results with the next step. */
export interface CompletedStep {
  readonly outcome: 'completed';
  readonly content: string;
  readonly tool_calls: readonly RequestedCall[];
  /** Whether the model stopped because its output was too long. */
  readonly is_cut: boolean;
  /** Whether the server declined the request because of its content (finish reason `content_filter`). */
  readonly is_declined: boolean;
  /** Null if the server does not report usage. */
  readonly usage: Usage | null;
  readonly model: string;
}

export type ModelState = 'available' | 'unavailable' | 'not_configured';

export interface LanguageModel {
  readonly configured: boolean;
  /** Whether the model is available. Calls are cheap, because the result is cached for a few seconds. */
  check(): Promise<boolean>;
  /** Like `check`, but also reports whether a model is configured. */
  readState(): Promise<ModelState>;
  /** Runs the requested tools until the reply is complete. */
  reply(request: ReplyRequest, onDelta: (delta: ReplyDelta) => void): Promise<CompletedReply | UnavailableReply>;
  /** Makes a single model call. */
  step(request: StepRequest, onText: (text: string) => void): Promise<CompletedStep | UnavailableReply>;
}

export interface ModelSettings {
  readonly url: string | undefined;
  readonly apiKey: string | undefined;
  readonly name: string;
  /** Called after every reply or step, with `completed` or the reason for failure. */
  readonly onReply?: (outcome: string, seconds: number) => void;
}

const checkTimeoutMs = 2_000;
const cacheMs = { reachable: 5_000, unreachable: 500 };
const staleMs = 3_000;
const maxSteps = 8;
const defaultOutputTokens = 8_192;
const replyTimeout = { totalMs: 9 * 60_000, chunkMs: 60_000 };

const notConfigured: LanguageModel = {
  configured: false,
  check: async () => false,
  readState: async () => 'not_configured',
  reply: async () => ({ outcome: 'unavailable', reason: 'off' }),
  step: async () => ({ outcome: 'unavailable', reason: 'off' }),
};

export function openLanguageModel({ url, apiKey, name, onReply }: ModelSettings): LanguageModel {
  if (url === undefined) return notConfigured;
  const provider = createOpenAICompatible({ name: 'model', baseURL: url, apiKey, includeUsage: true });
  const open = (model: string | null) =>
    wrapLanguageModel({ model: provider(model ?? name), middleware: refuseDeepCalls });
  const measure = async <Ended extends { outcome: 'completed' } | UnavailableReply>(ending: Promise<Ended>) => {
    const startedAt = performance.now();
    const ended = await ending;
    onReply?.(ended.outcome === 'completed' ? 'completed' : ended.reason, (performance.now() - startedAt) / 1000);
    return ended;
  };
  const check = cache(() => isReachable(url, apiKey));
  return {
    configured: true,
    check,
    readState: async () => ((await check()) ? 'available' : 'unavailable'),
    reply: (request, onDelta) => measure(reply(open(request.model), request, onDelta)),
    step: (request, onText) => measure(step(open(request.model), request, onText)),
  };
}

// Far more than any tool needs. Thousands of levels would overflow the stack in our code and in the SDK.
const maxDepth = 200;

/** Before arguments are parsed, replaces those that are nested too deeply with a string that is not JSON. */
const refuseDeepCalls: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  wrapStream: async ({ doStream }) => {
    const { stream, ...rest } = await doStream();
    type Part = typeof stream extends ReadableStream<infer Each> ? Each : never;
    const refuse = new TransformStream<Part, Part>({
      transform(part, controller) {
        const isTooDeep = part.type === 'tool-call' && measureDepth(part.input) > maxDepth;
        controller.enqueue(isTooDeep ? { ...part, input: '(nested too deeply)' } : part);
      },
    });
    return { ...rest, stream: stream.pipeThrough(refuse) };
  },
};

/** The maximum nesting depth of a JSON text's brackets. Runs in linear time. */
function measureDepth(json: string): number {
  let [depth, deepest, isInText] = [0, 0, false];
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index] as string;
    if (isInText && character === '\\') index += 1;
    else if (character === '"') isInText = !isInText;
    else if (isInText) continue;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** Any response is enough, unless it means that no request would be served. */
async function isReachable(url: string, apiKey: string | undefined): Promise<boolean> {
  try {
    const answer = await requestModels(url, apiKey, AbortSignal.timeout(checkTimeoutMs));
    await answer.body?.cancel();
    return isServing(answer.status);
  } catch {
    return false;
  }
}

/** Whether a server that answers `GET /models` with this status would serve other requests. */
export const isServing = (status: number): boolean => status < 500 && status !== 401 && status !== 403;

/** The cheapest request of the protocol. It uses no tokens. */
export const requestModels = (url: string, apiKey: string | undefined, signal: AbortSignal): Promise<Response> =>
  fetch(`${url}/models`, {
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    signal,
    redirect: 'error',
  });

/**
 * Caches the result, and shares one check among all callers. If the model hangs, a check takes 2 seconds. In the
 * meantime, callers receive the last result if it was negative, instead of waiting.
 */
function cache(check: () => Promise<boolean>): () => Promise<boolean> {
  let checking: Promise<boolean> | undefined;
  let cached = { reachable: false, until: Number.NEGATIVE_INFINITY };
  return async () => {
    if (performance.now() < cached.until) return cached.reachable;
    checking ??= check()
      .then((reachable) => {
        cached = { reachable, until: performance.now() + (reachable ? cacheMs.reachable : cacheMs.unreachable) };
        return reachable;
      })
      .finally(() => {
        checking = undefined;
      });
    if (!cached.reachable && performance.now() < cached.until + staleMs) return false;
    return checking;
  };
}

type SdkOptions = Parameters<typeof streamText>[0];

async function reply(
  model: SdkOptions['model'],
  request: ReplyRequest,
  onDelta: (delta: ReplyDelta) => void,
): Promise<CompletedReply | UnavailableReply> {
  const builder = new ReplyBuilder(onDelta);
  const messages = request.messages.map(({ role, content }) => ({ role, content }));
  const tools = request.tools.map(({ name, description, parameters, run }) => [
    name,
    tool({ description, inputSchema: parameters, execute: run }),
  ]);
  const failed = await receive({ ...request, model, messages, tools: Object.fromEntries(tools), maxSteps }, builder);
  return failed ?? builder.finish();
}

async function step(
  model: SdkOptions['model'],
  request: StepRequest,
  onText: (text: string) => void,
): Promise<CompletedStep | UnavailableReply> {
  const builder = new ReplyBuilder((delta) => {
    if ('text' in delta) onText(delta.text);
  });
  const messages = request.messages.map(toSdkMessage);
  const tools = request.tools.map(({ name, description, parameters }) => [
    name,
    tool({ description, inputSchema: parameters }),
  ]);
  // Limited to one step, because the SDK would otherwise answer malformed calls itself and continue.
  const oneStep = { tools: Object.fromEntries(tools), maxSteps: 1 };
  const failed = await receive({ ...request, model, messages, ...oneStep }, builder);
  const ended = failed ?? builder.finish();
  if (ended.outcome === 'unavailable') return ended;
  const tool_calls = ended.tool_calls.map(({ id, name, arguments_string }) => ({ id, name, arguments_string }));
  return { ...ended, tool_calls, is_cut: builder.isCut, is_declined: builder.isDeclined };
}

interface SdkRequest {
  readonly model: SdkOptions['model'];
  readonly instructions: string;
  readonly messages: ModelMessage[];
  /** Tools without `execute` are not run. */
  readonly tools: ToolSet;
  readonly maxSteps: number;
  readonly maxOutputTokens?: number | undefined;
  readonly signal: AbortSignal;
}

/** Passes the model's output to the builder. Returns the failure, if any. */
async function receive(
  { model, instructions, messages, tools, maxSteps, maxOutputTokens = defaultOutputTokens, signal }: SdkRequest,
  builder: ReplyBuilder,
): Promise<UnavailableReply | undefined> {
  const { fullStream } = streamText({
    model,
    system: instructions,
    messages,
    tools,
    stopWhen: stepCountIs(maxSteps),
    maxOutputTokens,
    maxRetries: 0, // the caller decides whether to retry
    abortSignal: signal,
    timeout: replyTimeout,
    onError: () => {}, // errors are handled below, as parts of the stream
  });
  const fail = (reason: UnavailableReply['reason']) =>
    ({ outcome: 'unavailable', reason: signal.aborted ? 'cancelled' : reason }) as const;
  try {
    for await (const part of fullStream) {
      const reason = builder.add(part);
      if (reason !== undefined) return fail(reason);
    }
  } catch (error) {
    return fail(classifyError(error));
  }
  return undefined;
}

function toSdkMessage(message: StepMessage): ModelMessage {
  if (message.role === 'user') return { role: 'user', content: message.content };
  if (message.role === 'tool') {
    const { tool_call_id: toolCallId, tool_name: toolName, content: value, is_error } = message;
    const output = { type: is_error ? ('error-text' as const) : ('text' as const), value };
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
  }
  const text = message.content === '' ? [] : [{ type: 'text' as const, text: message.content }];
  const calls = message.tool_calls.map(({ id, name, arguments_string }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: name,
    input: toInput(arguments_string),
  }));
  return { role: 'assistant', content: [...text, ...calls] };
}

/** Servers reject arguments that are not objects, even in the model's earlier replies. */
function toInput(argumentsString: string): object {
  try {
    const input = JSON.parse(argumentsString);
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input;
  } catch {}
  return { malformed: argumentsString };
}

/** Builds a reply from its stream's parts. */
class ReplyBuilder {
  #content = '';
  #hasTextInStep = false;
  #model = '';
  #finished = false;
  #isCut = false;
  #isDeclined = false;
  #usage: Usage | null = null;
  readonly #toolCalls = new Map<string, ToolCall>();
  readonly #onDelta: (delta: ReplyDelta) => void;

  constructor(onDelta: (delta: ReplyDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** Returns the reason if this part means that the reply failed. */
  add(part: TextStreamPart<ToolSet>): UnavailableReply['reason'] | undefined {
    switch (part.type) {
      case 'start-step':
        this.#hasTextInStep = false;
        return undefined;
      case 'text-delta':
        return this.#addText(part.text);
      case 'tool-call':
        return this.#addToolCall(part.toolCallId, part.toolName, toText(part.input), 'running', null);
      case 'tool-result':
        return this.#addToolCall(part.toolCallId, part.toolName, toText(part.input), 'success', toText(part.output));
      case 'tool-error':
        return this.#addToolCall(part.toolCallId, part.toolName, toText(part.input), 'error', toMessage(part.error));
      case 'finish-step':
        this.#model = part.response.modelId;
        this.#isCut = part.finishReason === 'length';
        this.#isDeclined = part.finishReason === 'content-filter';
        // Without a finish reason, the server has not completed the reply.
        return part.rawFinishReason === undefined ? 'cut' : undefined;
      case 'finish':
        this.#finished = true;
        this.#usage = toUsage(part.totalUsage);
        return undefined;
      case 'error':
        return classifyError(part.error);
      case 'abort':
        return 'timeout';
      default:
        return undefined;
    }
  }

  /** Whether the last step ended because its output was too long. */
  get isCut(): boolean {
    return this.#isCut;
  }

  get isDeclined(): boolean {
    return this.#isDeclined;
  }

  finish(): CompletedReply | UnavailableReply {
    if (!this.#finished) return { outcome: 'unavailable', reason: 'cut' };
    const tool_calls = [...this.#toolCalls.values()];
    return { outcome: 'completed', content: this.#content, tool_calls, usage: this.#usage, model: this.#model };
  }

  /** Text after a tool call starts a new paragraph. */
  #addText(text: string): undefined {
    if (text === '') return;
    const more = !this.#hasTextInStep && this.#content !== '' ? `\n\n${text}` : text;
    this.#hasTextInStep = true;
    this.#content += more;
    this.#onDelta({ text: more });
  }

  #addToolCall(
    id: string,
    name: string,
    arguments_string: string,
    status: ToolCall['status'],
    results: string | null,
  ): undefined {
    const tool_call = { id, name, arguments_string, status, results };
    this.#toolCalls.set(id, tool_call);
    this.#onDelta({ tool_call });
  }
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

const toMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 1_000);

function toUsage(usage: { inputTokens: number | undefined; outputTokens: number | undefined }): Usage | null {
  const { inputTokens, outputTokens } = usage;
  if (inputTokens === undefined || outputTokens === undefined) return null;
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens };
}

// Statuses that are not about the request itself, but about the key, account, address, model name or request rate.
const refusals = [401, 402, 403, 404, 408, 429];

/** Returns only the kind of failure, because the vendor's message may repeat parts of the request. */
function classifyError(error: unknown): UnavailableReply['reason'] {
  if (APICallError.isInstance(error)) {
    if (error.statusCode === undefined) return 'unreachable';
    if (error.statusCode < 400) return 'cut';
    return error.statusCode >= 500 || refusals.includes(error.statusCode) ? 'refused' : 'rejected';
  }
  const name = error instanceof Error ? error.name : '';
  if (name === 'AbortError' || name === 'TimeoutError') return 'timeout';
  if (name.startsWith('AI_')) return 'malformed';
  return 'cut';
}
