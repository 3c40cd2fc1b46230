// The chat of an app: the conversation so far, the turn as it runs, and the field for the next message.
import { Link } from '@tanstack/react-router';
import { ArrowUp, Check, ChevronRight, History, Sparkles, Square, TriangleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { type App, useReadAgain } from '../../data/app-context.ts';
import { useSignedIn } from '../../data/me.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation, usePages } from '../../data/use-operation.ts';
import { type Sending, useSending } from '../../data/use-sending.ts';
import { useStream } from '../../data/use-stream.ts';
import { Since } from '../../ui/age.tsx';
import { ToneIcon, toneClass } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Composer } from '../../ui/composer.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { Loading } from '../../ui/panel.tsx';
import { Problem } from '../../ui/problem.tsx';
import { findQuestion, withoutQuestion } from '../../ui/question.ts';
import { isSameRequest, PutBack, StandInWarning, useReplaceableDraft, useStandInRequests } from '../../ui/stand-in.tsx';
import { formatNumber, plural } from '../../ui/times.ts';
import { describeDeed, joinRevisions, type Revision } from './by-hand.ts';
import { HeldRules } from './held-rules.tsx';
import { computeCost, describeCall, describeCheck, findChoices, findRevision } from './tool-calls.ts';
import { emptyTranscript, follow, joinMessages, type Message, type Part, type ToolCall } from './transcript.ts';

export function Chat({ app }: { readonly app: App }) {
  const readAgain = useReadAgain(app.id);
  const history = usePages('getChat', { app_id: app.id, limit: 30 });
  const held = useOperation('getChat', { app_id: app.id, limit: 1 });
  const prices = useOperation('listPrices', {});
  const price = prices.data?.items.find(({ operation }) => operation === 'sendChatMessage');
  const stream = useStream(
    'followChat',
    { app_id: app.id },
    {
      initial: emptyTranscript,
      reduce: follow,
      onEvent: ({ event }) => {
        if (event === 'app.changed' || event === 'turn.completed') void readAgain();
      },
    },
  );
  const sending = useSending(app.id);
  const { turn, messages: followed } = stream.state;
  const messages = useMemo(() => joinMessages(history.data ?? [], followed), [history.data, followed]);
  const requests = useStandInRequests();
  const revisions = usePages('listRevisions', { app_id: app.id, limit: 50 });
  const entries = useMemo(
    () => joinRevisions(messages, history.data === undefined ? [] : (revisions.data ?? []), !history.hasMore),
    [messages, history.data, history.hasMore, revisions.data],
  );
  const isWorking = turn !== undefined || app.status.state === 'processing';
  const last = messages.at(-1);
  const isAsking = !isWorking && last?.role === 'assistant' && findQuestion(last.tool_calls) !== undefined;

  if (history.error?.status === 403)
    return (
      <p className="p-4 text-quiet">
        You can look at this app, but not change it. Ask its owner for the role of an editor.
      </p>
    );
  return (
    <section aria-label="Chat" className="flex h-full min-h-0 flex-col">
      {/* Beside a screen, that screen's heading is the page's. */}
      <h1 className="sr-only wide:hidden">Chat</h1>
      <Scroller>
        {history.hasMore && (
          <Button kind="quiet" isBusy={history.isReadingMore} onClick={history.more}>
            Earlier messages
          </Button>
        )}
        {history.error && <Problem error={history.error} onAgain={history.again} />}
        {history.data === undefined && !history.error && <Loading lines={4} onAgain={history.again} />}
        {history.data?.length === 0 && messages.length === 0 && !isWorking && (
          <div className="flex flex-col gap-2 text-quiet">
            <p className="font-medium text-text">What should this app do?</p>
            <p>
              Describe it in your own words. The assistant writes the pages and the data, checks them, and saves a
              revision that you can go back from.
            </p>
          </div>
        )}
        {entries.map((entry) =>
          entry.kind === 'message' ? (
            <MessageView
              key={entry.message.id}
              app={app}
              message={entry.message}
              price={price}
              isAsking={isAsking && entry.message === last}
            />
          ) : (
            <ByHand key={entry.revisions[0]?.revision} app={app} revisions={entry.revisions} />
          ),
        )}
        {isWorking && <Running parts={turn?.parts ?? []} app={app} />}
        {isAsking && <Answers message={last} onAnswer={sending.send} />}
        <HeldRules app_id={app.id} rules={held.data?.held_rules ?? []} />
        {stream.error && (
          <Problem error={stream.error} title="New messages don't arrive by themselves" onAgain={stream.again} />
        )}
        {sending.problem && <Problem {...sending.problem} />}
        {sending.checked && (
          <p role="status" className={classNames('flex gap-2 rounded-medium p-3', toneClass('good'))}>
            <ToneIcon tone="good" />
            {sending.checked.hadArrived
              ? 'Your message had arrived. Nothing was sent a second time.'
              : 'Your message had not arrived. It is sent now.'}
          </p>
        )}
      </Scroller>
      <Sender
        app={app}
        sending={sending}
        isWorking={isWorking}
        price={price}
        isAsking={isAsking}
        playable={findPlayable(requests, messages, app.revision > 1)}
      />
    </section>
  );
}

type Price = { readonly credits: number; readonly at_least: number | null } | undefined;

interface SenderProps {
  readonly app: App;
  readonly sending: Sending;
  readonly isWorking: boolean;
  readonly price: Price;
  /** Whether the assistant has asked something. Any answer to that can be played. */
  readonly isAsking: boolean;
  /** What a stand-in for a language model can play next; undefined with a real model. */
  readonly playable: readonly string[] | undefined;
}

function Sender({ app, sending, isWorking, price, isAsking, playable }: SenderProps) {
  const draft = useReplaceableDraft(app.id);
  const { text } = draft;
  const stop = useChange('stopChat');
  const stopTurn = async () =>
    sayOutcome(
      await stop.perform({ app_id: app.id }),
      'Stopped. Nothing of this turn was saved.',
      'The turn was not stopped.',
    );
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === '.' && (event.ctrlKey || event.metaKey) && isWorking) void stopTurn();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  });
  const sendText = async () => {
    if (await sending.send(text.trim())) draft.clear();
  };
  const isArrived = sending.checked !== undefined && sending.checked.content === text.trim();
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was typed goes once it is known to have arrived.
  useEffect(() => {
    if (isArrived) draft.clear();
  }, [isArrived]);
  const offered = isWorking || isAsking ? undefined : playable;
  const isUnplayable =
    offered !== undefined && text.trim() !== '' && !offered.some((request) => isSameRequest(request, text));
  return (
    <div className="flex shrink-0 flex-col gap-3 border-t border-line p-3">
      {isUnplayable && (
        <StandInWarning
          playable={offered}
          otherwise="To a request in your own words it most likely answers that it can't do that, and nothing changes."
          onChoose={draft.replace}
        />
      )}
      {!isUnplayable && draft.putBack && (
        <div className="flex">
          <PutBack putBack={draft.putBack} />
        </div>
      )}
      {!isUnplayable && offered !== undefined && offered.length > 0 && (
        <div className="flex flex-wrap items-center gap-2">
          <span className="text-dense text-quiet">The stand-in can play:</span>
          {offered.map((request) => (
            <Button key={request} isBusy={sending.isSending} onClick={() => void sending.send(request)}>
              {request}
            </Button>
          ))}
        </div>
      )}
      <Composer
        label="Message to the assistant"
        placeholder={
          isWorking
            ? 'You can write the next message meanwhile'
            : isAsking
              ? 'Or answer in your own words'
              : 'What should change?'
        }
        text={text}
        onText={draft.setText}
        onSend={() => void sendText()}
        action="Send"
        icon={ArrowUp}
        isSending={sending.isSending}
        reason={isWorking ? 'The assistant is working. Send when it has finished, or stop it.' : undefined}
      >
        {isWorking ? (
          <Button icon={Square} isBusy={stop.isSending} onClick={() => void stopTurn()} title="Ctrl + .">
            Stop
          </Button>
        ) : (
          price?.at_least && <span className="pl-2">at least {formatNumber(price.at_least)} credits</span>
        )}
      </Composer>
    </div>
  );
}

interface ByHandProps {
  readonly app: App;
  readonly revisions: readonly Revision[];
}

/** What people changed without the assistant, such as a restore. */
function ByHand({ app, revisions }: ByHandProps) {
  const me = useSignedIn();
  return (
    <p className="flex items-center gap-2 text-dense text-quiet">
      <History size={16} aria-hidden className="shrink-0" />
      <span className="min-w-0 grow">{describeDeed(revisions, me?.email)}</span>
      <Link
        to="/editor/$app/revisions/$rev"
        params={{ app: app.id, rev: String(revisions.at(-1)?.revision) }}
        className="target inline-flex shrink-0 items-center text-link"
      >
        Look
      </Link>
    </p>
  );
}

interface MessageProps {
  readonly app: App;
  readonly message: Message;
  readonly price: Price;
  /** Whether the question at the end is asked below, with its answers. */
  readonly isAsking: boolean;
}

function MessageView({ app, message, price, isAsking }: MessageProps) {
  if (message.role === 'user')
    return (
      <div className="ml-8 self-end rounded-large bg-active px-4 py-2 whitespace-pre-line text-on-active">
        {message.content}
      </div>
    );
  if (message.role === 'system')
    return (
      <div className="flex gap-2 rounded-medium bg-wait p-3 text-on-wait">
        <TriangleAlert size={16} aria-hidden className="mt-px shrink-0" />
        <Markdown text={message.content} />
      </div>
    );
  const saved = findRevision(message.tool_calls);
  const cost = computeCost(message.usage, price);
  return (
    <article className="flex min-w-0 flex-col gap-3">
      <Markdown text={isAsking ? withoutQuestion(message) : message.content} />
      <Steps calls={message.tool_calls} />
      {saved && <SavedRevision app={app} {...saved} />}
      <p className="flex flex-wrap gap-x-3 text-caption text-quiet">
        <Since time={message.updated_date} />
        {cost !== undefined && <span>{formatNumber(Math.round(cost * 100) / 100)} credits</span>}
      </p>
    </article>
  );
}

function SavedRevision({
  app,
  revision,
  files,
  entities,
}: { readonly app: App } & ReturnType<typeof findRevision> & object) {
  return (
    <Link
      to="/editor/$app/revisions/$rev"
      params={{ app: app.id, rev: String(revision) }}
      className="flex items-center gap-3 rounded-medium border border-line bg-raised px-3 py-2 shadow-card transition-colors hover:bg-hover"
    >
      <span className="flex size-6 shrink-0 items-center justify-center rounded-full bg-good text-on-good">
        <Check size={16} aria-hidden />
      </span>
      <span className="flex min-w-0 grow flex-col">
        <span className="font-medium">Revision {revision}</span>
        <span className="text-dense text-quiet">
          {plural(files, 'file', 'files')}
          {entities > 0 && `, ${plural(entities, 'kind of data', 'kinds of data')}`}
        </span>
      </span>
      <span className="text-dense text-link">What changed</span>
    </Link>
  );
}

/** The finished tool calls, folded away: the text says what was done. */
function Steps({ calls }: { readonly calls: readonly ToolCall[] }) {
  const shown = calls.filter(({ name }) => name !== 'save_revision');
  if (shown.length === 0) return null;
  const failed = shown.filter(({ status }) => status === 'error').length;
  return (
    <details className="group">
      <summary className="target flex list-none items-center gap-1 text-dense text-quiet hover:text-text">
        <ChevronRight size={16} aria-hidden className="transition-transform group-open:rotate-90" />
        {plural(shown.length, 'step', 'steps')}
        {failed > 0 && ` · ${failed} did not work at first`}
      </summary>
      <ul className="flex flex-col gap-1 pt-1 pl-1">
        {shown.map((call) => (
          <CallLine key={call.id} call={call} />
        ))}
      </ul>
    </details>
  );
}

const marks = {
  running: { name: 'running', className: 'animate-breathe bg-accent' },
  success: { name: 'done', className: 'bg-on-good' },
  error: { name: 'failed', className: 'bg-on-bad' },
  stopped: { name: 'stopped', className: 'bg-field' },
} as const;

function CallLine({ call }: { readonly call: ToolCall }) {
  const mark = marks[call.status];
  const check = describeCheck(call);
  return (
    <li className="flex min-w-0 items-baseline gap-3 text-dense text-quiet">
      <span className={classNames('size-2 shrink-0 rounded-full', mark.className)}>
        <span className="sr-only">{mark.name}</span>
      </span>
      <span className="min-w-0">
        {describeCall(call)}
        {check && <span className="block text-caption">{check}</span>}
        {call.status === 'error' && !check && call.results && (
          <span className="block text-caption">{call.results.split('\n')[0]}</span>
        )}
      </span>
    </li>
  );
}

function Running({ parts, app }: { readonly parts: readonly Part[]; readonly app: App }) {
  const steps = parts.filter(({ kind }) => kind === 'call').length;
  return (
    <div className="flex min-w-0 flex-col gap-2" aria-busy>
      {parts.map((part, index) =>
        part.kind === 'text' ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are only added at the end
          <Markdown key={index} text={part.text} />
        ) : (
          <ul key={part.call.id}>
            <CallLine call={part.call} />
          </ul>
        ),
      )}
      <p role="status" className="flex items-center gap-2 text-dense font-medium text-on-active">
        <Sparkles size={16} aria-hidden className="animate-breathe" />
        {steps > 0 ? `Working on ${app.name}, step ${steps}` : `Working on ${app.name}`}
      </p>
    </div>
  );
}

/** The answers that a question names, as buttons. Any other answer can be typed. */
function Answers({ message, onAnswer }: { readonly message: Message; onAnswer(content: string): Promise<boolean> }) {
  const question = findQuestion(message.tool_calls);
  if (question === undefined) return null;
  const choices = findChoices(question);
  return (
    <div className="flex flex-col gap-3 rounded-medium border border-line bg-raised p-3 shadow-card">
      <p className="font-medium">{question}</p>
      {choices.length > 0 ? (
        <div className="flex flex-wrap gap-2">
          {choices.map((choice) => (
            <Button key={choice} onClick={() => void onAnswer(choice)}>
              {choice}
            </Button>
          ))}
        </div>
      ) : (
        <p className="text-dense text-quiet">Answer below, in your own words.</p>
      )}
    </div>
  );
}

/**
 * What a stand-in for a language model can play next: the request that begins an app, and then each change of that app
 * that nobody has asked for. Undefined with a real model.
 */
function findPlayable(
  requests: readonly string[],
  messages: readonly Message[],
  isBuilt: boolean,
): readonly string[] | undefined {
  const [first, ...changes] = requests;
  if (first === undefined) return undefined;
  if (!isBuilt) return [first];
  const isSent = (request: string) =>
    messages.some(({ role, content }) => role === 'user' && isSameRequest(content, request));
  return isSent(first) ? changes.filter((request) => !isSent(request)) : [];
}

/** Stays at the end while the end is in view. A reader who has scrolled up is left alone. */
function Scroller({ children }: { readonly children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  // After every drawing, because whatever is drawn may be longer than before.
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  });
  // Also after the window changes, or the chat is shown again on a phone.
  useEffect(() => {
    const sizes = new ResizeObserver(() => {
      if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
    });
    if (box.current) sizes.observe(box.current);
    return () => sizes.disconnect();
  }, []);
  return (
    <div
      ref={box}
      tabIndex={0}
      role="log"
      aria-label="Conversation"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        if (clientHeight > 0) isAtEnd.current = scrollHeight - scrollTop - clientHeight < 80;
      }}
      className="flex min-h-0 grow flex-col gap-6 overflow-y-auto overscroll-contain p-4"
    >
      {children}
    </div>
  );
}
