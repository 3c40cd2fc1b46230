// Owns the language model: any server that speaks the OpenAI chat completions protocol, by the address and key the
// operator sets. That it cannot answer is a value of the answer, not an exception.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, stepCountIs, streamText, type TextStreamPart, type ToolSet, tool } from 'ai';
import type { z } from 'zod';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodType;
  /** Gives what the model is told of it. What it throws, the model is told as an error, and goes on. */
  run(input: never): Promise<string>;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments_string: string;
  readonly status: 'running' | 'success' | 'error';
  readonly results: string | null;
}

export interface ReplyRequest {
  /** Null: the installation's default. */
  readonly model: string | null;
  readonly instructions: string;
  readonly messages: readonly { role: 'user' | 'assistant'; content: string }[];
  readonly tools: readonly Tool[];
  readonly signal: AbortSignal;
}

/** A piece of a reply on its way: the texts in a row are its content; a tool call comes when it begins and when it ends. */
export type ReplyDelta = { readonly text: string } | { readonly tool_call: ToolCall };

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

export interface CompletedReply {
  readonly outcome: 'completed';
  readonly content: string;
  readonly tool_calls: readonly ToolCall[];
  /** Null where the server does not tell. */
  readonly usage: Usage | null;
  readonly model: string;
}

export interface UnavailableReply {
  readonly outcome: 'unavailable';
  /** `off`: none is set up. `cut`: it ended before it had finished. */
  readonly reason: 'off' | 'unreachable' | 'refused' | 'cut' | 'malformed' | 'timeout' | 'cancelled';
}

export interface LanguageModel {
  readonly configured: boolean;
  /** Whether a reply can be asked for now: a cheap question, whose answer is good for a moment. */
  check(): Promise<boolean>;
  reply(asked: ReplyRequest, onPiece: (piece: ReplyDelta) => void): Promise<CompletedReply | UnavailableReply>;
}

export interface ModelSettings {
  readonly url: string | undefined;
  readonly apiKey: string | undefined;
  readonly name: string;
}

const checkMs = 2_000;
const freshMs = { reachable: 5_000, unreachable: 500 };
const maxSteps = 8;
const maxOutputTokens = 8_192;
const patience = { totalMs: 9 * 60_000, chunkMs: 60_000 };

const off: LanguageModel = {
  configured: false,
  check: async () => false,
  reply: async () => ({ outcome: 'unavailable', reason: 'off' }),
};

export function openLanguageModel({ url, apiKey, name }: ModelSettings): LanguageModel {
  if (url === undefined) return off;
  const provider = createOpenAICompatible({ name: 'model', baseURL: url, apiKey, includeUsage: true });
  return {
    configured: true,
    check: remembered(() => isReachable(url, apiKey)),
    reply: (asked, onPiece) => reply(provider(asked.model ?? name), asked, onPiece),
  };
}

/** Any answer will do but one that says that no request will be served. */
async function isReachable(url: string, apiKey: string | undefined): Promise<boolean> {
  try {
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const answer = await fetch(`${url}/models`, { headers, signal: AbortSignal.timeout(checkMs), redirect: 'error' });
    await answer.body?.cancel();
    return answer.status < 500 && answer.status !== 401 && answer.status !== 403;
  } catch {
    return false;
  }
}

/** One question at a time, however many ask. */
function remembered(ask: () => Promise<boolean>): () => Promise<boolean> {
  let asking: Promise<boolean> | undefined;
  let known = { reachable: false, until: 0 };
  return async () => {
    if (performance.now() < known.until) return known.reachable;
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    const reachable = await asking;
    known = { reachable, until: performance.now() + (reachable ? freshMs.reachable : freshMs.unreachable) };
    return reachable;
  };
}

async function reply(
  model: Parameters<typeof streamText>[0]['model'],
  asked: ReplyRequest,
  onPiece: (piece: ReplyDelta) => void,
): Promise<CompletedReply | UnavailableReply> {
  const draft = new Draft(onPiece);
  const { fullStream } = streamText({
    model,
    system: asked.instructions,
    messages: asked.messages.map(({ role, content }) => ({ role, content })),
    tools: Object.fromEntries(asked.tools.map((each) => [each.name, asTool(each)])) as ToolSet,
    stopWhen: stepCountIs(maxSteps),
    maxOutputTokens,
    maxRetries: 0, // whoever asked decides whether to ask again
    abortSignal: asked.signal,
    timeout: patience,
    onError: () => {}, // told below, as a part of the stream
  });
  try {
    for await (const part of fullStream) {
      const failed = draft.take(part);
      if (failed !== undefined) return { outcome: 'unavailable', reason: asked.signal.aborted ? 'cancelled' : failed };
    }
  } catch (error) {
    return { outcome: 'unavailable', reason: asked.signal.aborted ? 'cancelled' : reasonOf(error) };
  }
  return draft.completed();
}

const asTool = ({ description, parameters, run }: Tool) =>
  tool({ description, inputSchema: parameters, execute: (input: unknown) => run(input as never) });

/** A reply as it grows. */
class Draft {
  #content = '';
  #begun = false;
  #model = '';
  #finished = false;
  #usage: Usage | null = null;
  readonly #calls = new Map<string, ToolCall>();
  readonly #onPiece: (piece: ReplyDelta) => void;

  constructor(onPiece: (piece: ReplyDelta) => void) {
    this.#onPiece = onPiece;
  }

  /** Gives why the reply has failed, once it has. */
  take(part: TextStreamPart<ToolSet>): UnavailableReply['reason'] | undefined {
    switch (part.type) {
      case 'start-step':
        this.#begun = false;
        return undefined;
      case 'text-delta':
        return this.#write(part.text);
      case 'tool-call':
        return this.#call(part.toolCallId, part.toolName, textOf(part.input), 'running', null);
      case 'tool-result':
        return this.#call(part.toolCallId, part.toolName, textOf(part.input), 'success', textOf(part.output));
      case 'tool-error':
        return this.#call(part.toolCallId, part.toolName, textOf(part.input), 'error', messageOf(part.error));
      case 'finish-step':
        this.#model = part.response.modelId;
        // A server that ends without saying why it ends has not finished.
        return part.rawFinishReason === undefined ? 'cut' : undefined;
      case 'finish':
        this.#finished = true;
        this.#usage = usageOf(part.totalUsage);
        return undefined;
      case 'error':
        return reasonOf(part.error);
      case 'abort':
        return 'timeout';
      default:
        return undefined;
    }
  }

  completed(): CompletedReply | UnavailableReply {
    if (!this.#finished) return { outcome: 'unavailable', reason: 'cut' };
    const tool_calls = [...this.#calls.values()];
    return { outcome: 'completed', content: this.#content, tool_calls, usage: this.#usage, model: this.#model };
  }

  /** What it says after a tool call is a paragraph of its own. */
  #write(text: string): undefined {
    if (text === '') return;
    const more = !this.#begun && this.#content !== '' ? `\n\n${text}` : text;
    this.#begun = true;
    this.#content += more;
    this.#onPiece({ text: more });
  }

  #call(
    id: string,
    name: string,
    arguments_string: string,
    status: ToolCall['status'],
    results: string | null,
  ): undefined {
    const tool_call = { id, name, arguments_string, status, results };
    this.#calls.set(id, tool_call);
    this.#onPiece({ tool_call });
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 1_000);

function usageOf(usage: { inputTokens: number | undefined; outputTokens: number | undefined }): Usage | null {
  const { inputTokens, outputTokens } = usage;
  if (inputTokens === undefined || outputTokens === undefined) return null;
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens };
}

/** Only the kind of failure: what a vendor writes may repeat what it was sent. */
function reasonOf(error: unknown): UnavailableReply['reason'] {
  if (APICallError.isInstance(error)) {
    if (error.statusCode === undefined) return 'unreachable';
    return error.statusCode < 400 ? 'cut' : 'refused';
  }
  const { name } = error as Error;
  if (name === 'AbortError' || name === 'TimeoutError') return 'timeout';
  if (name.startsWith('AI_')) return 'malformed';
  return 'cut';
}
