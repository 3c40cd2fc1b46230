// A language model for development and tests. It streams the OpenAI chat completions protocol (text, tool calls,
// usage), follows a script, and can be switched to be slow, truncate replies or reject requests.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeAdTexts } from './ad-texts.ts';
import { isForBuilder, playBuilder } from './builder-conversation.ts';
import type { ChatRequest, ModelReply, Script } from './chat.ts';
import { isForCoding, playCoding } from './coding-conversation.ts';
import { isForDoctor, playDoctor } from './doctor-conversation.ts';
import { explainRun } from './run-explanation.ts';
import { isForTest, playTest, proposeFlows } from './test-conversation.ts';

export type { ChatRequest, ModelReply, Script };

/**
 * `slow` sends one word per second. `silent` sends nothing until the behaviour changes. `cut` closes the connection
 * halfway through. A number responds with that status.
 */
export type Behaviour = 'well' | 'slow' | 'silent' | 'cut' | 'malformed' | 400 | 401 | 413 | 429 | 500;

export interface ModelSandbox {
  /** The value for `MODEL_URL`. To switch the behaviour, `POST` its name to `/behave` on the same server. */
  readonly url: string;
  readonly requests: readonly ChatRequest[];
  script(next: Script): void;
  /** Like `script`, but only for requests whose messages contain this text. For tests that run in parallel. */
  scriptFor(text: string, next: Script): void;
  behave(how: Behaviour): void;
  close(): Promise<void>;
}

export async function startModelSandbox(port = 0, wordMs = 1): Promise<ModelSandbox> {
  const requests: ChatRequest[] = [];
  let behaviour: Behaviour = 'well';
  let script: Script = sensible;
  const scriptsByText = new Map<string, Script>();
  const findScript = ({ messages }: ChatRequest): Script => {
    const content = JSON.stringify(messages);
    return scriptsByText.entries().find(([text]) => content.includes(text))?.[1] ?? script;
  };
  const paceMs = () => (behaviour === 'slow' ? 1_000 : wordMs);

  const complete = async (request: ChatRequest, response: ServerResponse) => {
    requests.push(request);
    while (behaviour === 'silent') await sleep(20);
    const reply = await findScript(request)(request);
    if (reply.status !== undefined) return refuse(response, reply.status);
    response.setHeader('content-type', 'text/event-stream');
    for (const [sent, chunk] of [...chunksOf(request, reply)].entries()) {
      response.write(`data: ${behaviour === 'malformed' ? '{"choices": [' : JSON.stringify(chunk)}\n\n`);
      if (paceMs() > 0) await sleep(paceMs());
      if (behaviour === 'cut' && sent >= 2) return response.destroy();
    }
    response.end('data: [DONE]\n\n');
  };

  const server = createServer(async (request, response) => {
    const body = await read(request);
    if (request.url === '/behave') {
      behaviour = (Number(body) || body.trim()) as Behaviour;
      response.end();
    } else if (typeof behaviour === 'number') {
      refuse(response, behaviour);
    } else if (request.url === '/v1/models') {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data: [] }));
    } else if (request.url === '/v1/chat/completions') {
      await complete(JSON.parse(body), response);
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    script: (next) => {
      script = next;
    },
    scriptFor: (text, next) => void scriptsByText.set(text, next),
    behave: (how) => {
      behaviour = how;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message: `refused with ${status}`, type: 'sandbox' } }));
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function* chunksOf(request: ChatRequest, said: ModelReply): Generator<object> {
  const about = { id: 'chatcmpl-sandbox', object: 'chat.completion.chunk', created: 0, model: request.model };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...about,
    choices: [{ index: 0, delta, finish_reason }],
  });
  yield chunk({ role: 'assistant', content: '' });
  const words = said.text?.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
  for (const content of words) yield chunk({ content });
  for (const [index, call] of (said.tool_calls ?? []).entries()) {
    const args = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
    const id = `call_${request.messages.length}_${index}`;
    yield chunk({ tool_calls: [{ index, id, type: 'function', function: { name: call.name, arguments: '' } }] });
    yield chunk({ tool_calls: [{ index, function: { arguments: args } }] });
  }
  yield chunk({}, said.finish_reason ?? (said.tool_calls?.length ? 'tool_calls' : 'stop'));
  if (!request.stream_options?.include_usage || said.usage === null) return;
  const usage = said.usage ?? { prompt_tokens: promptTokens(request), completion_tokens: words.length };
  const total_tokens = usage.prompt_tokens + usage.completion_tokens;
  yield { ...about, choices: [], usage: { ...usage, total_tokens } };
}

const promptTokens = ({ messages }: ChatRequest): number => Math.ceil(JSON.stringify(messages).length / 4);

/**
 * The default script for demos. It takes part in the trial of `plinth doctor --model`, builds and tests a task list,
 * fixes a price calculator, writes ad texts, names a run's failed step, takes notes when asked to, and otherwise repeats
 * the message.
 */
function sensible(request: ChatRequest): ModelReply {
  if (isForDoctor(request)) return playDoctor(request);
  if (isForBuilder(request)) return playBuilder(request);
  if (isForTest(request)) return playTest(request);
  if (isForCoding(request)) return playCoding(request);
  const known = proposeFlows(request) ?? writeAdTexts(request) ?? explainRun(request);
  if (known !== undefined) return known;
  const { messages, tools } = request;
  const last = messages.at(-1);
  if (last?.role === 'tool') return { text: 'I have made a note of that.' };
  const text = typeof last?.content === 'string' ? last.content : '';
  const note = /\bremember (?:that )?(.+)/i.exec(text)?.[1];
  const canRemember = tools?.some((tool) => tool.function.name === 'remember');
  if (note !== undefined && canRemember) return { tool_calls: [{ name: 'remember', arguments: { content: note } }] };
  return { text: `You said: “${text.slice(0, 200)}”. I am a stand-in for a language model. That is all I know.` };
}
