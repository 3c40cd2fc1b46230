// The app in a frame: any kept revision, as nobody or as one of its users, with the revision that the page says it is of and
// the errors that it reports.
import { Navigate, useNavigate } from '@tanstack/react-router';
import { ExternalLink, Monitor, MonitorSmartphone, RotateCw, Smartphone, Tablet, UserPlus, Wrench } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useApp } from '../../data/app-context.ts';
import { isPlinthError, type PlinthError, useCaller } from '../../data/client.ts';
import { useSignedIn } from '../../data/me.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation, usePages } from '../../data/use-operation.ts';
import { useSending } from '../../data/use-sending.ts';
import { AppUserSelect } from '../../ui/app-user-select.tsx';
import { ToneIcon, toneClass } from '../../ui/badge.tsx';
import { Button, IconButton, iconLinkClass } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { say, sayOutcome } from '../../ui/outcome.tsx';
import { Empty, Loading } from '../../ui/panel.tsx';
import { Problem } from '../../ui/problem.tsx';
import { plural } from '../../ui/times.ts';
import { addMessage, askToFix, describeError, nothingReported, type PageReport } from './page-report.ts';
import { endPreview, openPreview, type Preview } from './preview.ts';

const sizes = [
  { size: 'phone', name: 'As on a phone', icon: Smartphone, width: 'max-w-frame-phone' },
  { size: 'tablet', name: 'As on a tablet', icon: Tablet, width: 'max-w-frame-tablet' },
  { size: 'full', name: 'As wide as there is room', icon: Monitor, width: '' },
] as const;

export type PreviewSize = (typeof sizes)[number]['size'];

/** What of the preview is in the address of the screen. */
export interface PreviewChoice {
  readonly size?: PreviewSize;
  /** The revision to show. Undefined for the present one, whichever that is. */
  readonly rev?: number;
  /** The user of the app as whom the preview is signed in. */
  readonly user?: string;
}

interface ScreenProps {
  readonly choice: PreviewChoice;
}

/** As whom each app was shown last. Whoever comes back from another tab sees it as the same user. */
const lastUsers = new Map<string, string>();

export function PreviewScreen({ choice }: ScreenProps) {
  const app = useApp();
  const user = lastUsers.get(app.id);
  if (choice.user === undefined && user !== undefined)
    return <Navigate to="/editor/$app/preview" params={{ app: app.id }} search={{ ...choice, user }} replace />;
  return <OpenedPreview choice={choice} />;
}

function OpenedPreview({ choice }: ScreenProps) {
  const app = useApp();
  const { rev, user, size = 'full' } = choice;
  const [attempt, setAttempt] = useState(0);
  const { preview, error } = useOpenPreview(rev, user, attempt);
  const again = () => setAttempt(attempt + 1);
  if (app.revision === 1) return <NotBuilt isWorking={app.status.state === 'processing'} />;
  return (
    <div className="flex min-h-0 grow flex-col">
      <h1 className="sr-only">Preview</h1>
      {error && (
        <div className="p-4">
          <Problem error={error} title="The preview could not be started" onAgain={again} />
        </div>
      )}
      {preview === undefined && !error && (
        <div className="p-4">
          <Loading lines={6} onAgain={again} />
        </div>
      )}
      {preview && <Frame key={preview.id} preview={preview} choice={choice} size={size} onAgain={again} />}
    </div>
  );
}

const NotBuilt = ({ isWorking }: { readonly isWorking: boolean }) => (
  <div className="m-auto max-w-form p-6">
    <h1 className="sr-only">Preview</h1>
    <Empty>
      <MonitorSmartphone size={32} aria-hidden className={classNames(isWorking && 'animate-breathe')} />
      <p className="font-medium text-text">
        {isWorking ? 'The assistant is building the first version' : 'There is nothing to show yet'}
      </p>
      <p>
        {isWorking
          ? 'It appears here as soon as it is saved.'
          : 'Say in the chat what this app should do. It appears here as soon as it is saved.'}
      </p>
    </Empty>
  </div>
);

/** A preview of another revision or user replaces this one, which is then ended. */
function useOpenPreview(rev: number | undefined, user: string | undefined, attempt: number) {
  const app = useApp();
  const caller = useCaller();
  const [state, setState] = useState<{ readonly preview?: Preview; readonly error?: PlinthError }>({});
  const isBuilt = app.revision > 1;
  const latest = useRef(caller);
  latest.current = caller;
  useEffect(() => {
    if (!isBuilt) return;
    let isShown = true;
    const args = {
      app_id: app.id,
      ...(rev !== undefined && { revision: rev }),
      ...(user !== undefined && { app_user_id: user }),
    };
    if (attempt > 0) endPreview(latest.current, args);
    setState({});
    openPreview(latest.current, args).then(
      (preview) => {
        if (!isShown) return;
        if (user !== undefined) lastUsers.set(app.id, user);
        setState({ preview });
      },
      (error: unknown) => {
        if (!isShown || !isPlinthError(error)) return;
        lastUsers.delete(app.id);
        setState({ error });
      },
    );
    return () => {
      isShown = false;
      // The preview of the present revision is kept, because people come back to it.
      if (rev !== undefined || user !== undefined) endPreview(latest.current, args);
    };
  }, [app.id, rev, user, isBuilt, attempt]);
  return state;
}

interface FrameProps {
  readonly preview: Preview;
  readonly choice: PreviewChoice;
  readonly size: PreviewSize;
  onAgain(): void;
}

function Frame({ preview, choice, size, onAgain }: FrameProps) {
  const app = useApp();
  const navigate = useNavigate();
  const [round, setRound] = useState(0);
  // A preview that follows the app is loaded again when the app has another revision.
  const wanted = preview.follows ? app.revision : preview.revision;
  // Pages offer sign-up if it is allowed, so they are also loaded again when that has changed.
  const settings = useOperation('getAppAuthSettings', { app_id: app.id });
  const load = `${wanted} ${settings.data?.sign_up_in_effect} ${round}`;
  const { frame, report, isSilent, onLoad } = usePageReport(preview, load);
  const choose = (search: PreviewChoice) => {
    if (search.user === undefined) lastUsers.delete(app.id);
    void navigate({ to: '/editor/$app/preview', params: { app: app.id }, search, replace: true });
  };
  const { user, ...withoutUser } = choice;
  const { rev, ...withoutRevision } = choice;
  // Until the settings are known, the page would be loaded twice.
  if (settings.data === undefined && settings.error === null) return null;
  return (
    <>
      <div className="flex shrink-0 flex-wrap items-center gap-1 border-b border-line bg-card px-2 py-1 middle:flex-nowrap middle:px-4">
        {/* A phone has room for one size only. */}
        <div className="hidden items-center gap-1 middle:flex">
          {sizes.map((each) => (
            <IconButton
              key={each.size}
              icon={each.icon}
              name={each.name}
              isPressed={size === each.size}
              onClick={() => choose({ ...choice, size: each.size })}
            />
          ))}
        </div>
        <div className="min-w-picture grow middle:max-w-list middle:grow-0">
          <AppUserSelect
            isCompact
            label="As whom the app is shown"
            nobody="Not signed in"
            user={user}
            onChoose={(next) => choose(next === undefined ? withoutUser : { ...withoutUser, user: next })}
          />
        </div>
        <RevisionLabel report={report} wanted={wanted} isSilent={isSilent} />
        <IconButton icon={RotateCw} name="Load again" onClick={() => setRound(round + 1)} />
        {preview.url && (
          <a
            href={preview.url}
            target="_blank"
            rel="noreferrer"
            title="Open in a new tab"
            aria-label="Open in a new tab"
            className={iconLinkClass}
          >
            <ExternalLink size={16} aria-hidden />
          </a>
        )}
      </div>
      {rev !== undefined && rev !== app.revision && (
        <p
          className={classNames('flex shrink-0 flex-wrap items-center gap-x-3 px-4 py-1 text-dense', toneClass('wait'))}
        >
          This is an earlier revision. The present one is {app.revision}.
          <button type="button" className="target underline" onClick={() => choose(withoutRevision)}>
            Show revision {app.revision}
          </button>
        </p>
      )}
      {user === undefined && !preview.sandboxed && app.public_settings !== 'public_without_login' && (
        <FirstUser onAdded={(added) => choose({ ...withoutUser, user: added })} />
      )}
      <div className="relative flex min-h-0 grow justify-center bg-sunken p-2 middle:p-4">
        <iframe
          key={load}
          ref={frame}
          title={`${app.name}, preview`}
          src={preview.url ?? 'about:blank'}
          onLoad={onLoad}
          // Pages of apps must not navigate the console away.
          sandbox="allow-scripts allow-same-origin allow-forms allow-modals allow-downloads allow-popups allow-popups-to-escape-sandbox"
          className={classNames(
            'h-full w-full rounded-medium border border-line bg-card shadow-card',
            sizes.find((each) => each.size === size)?.width,
          )}
        />
        {isSilent && (
          <div className="absolute inset-0 m-auto h-fit max-w-form p-4">
            <Empty>
              <p className="font-medium text-text">This page does not say which revision it is of</p>
              <p>Either the app has no start page yet, or the preview has ended.</p>
              <Button icon={RotateCw} onClick={onAgain}>
                Start the preview again
              </Button>
            </Empty>
          </div>
        )}
      </div>
      {report.errors.length > 0 && report.revision !== undefined && (
        <PageErrors revision={report.revision} report={report} />
      )}
      <p className="shrink-0 border-t border-line bg-card px-4 py-1 text-center text-caption text-quiet">
        {preview.sandboxed
          ? 'This installation has no domain for apps, so the page runs in a sandbox and reaches no data.'
          : 'This preview reads and writes the live data of the app.'}
      </p>
    </>
  );
}

/** While nobody has an account, a page that needs one shows its sign-in and nothing else. */
function FirstUser({ onAdded }: { onAdded(user: string): void }) {
  const app = useApp();
  const me = useSignedIn();
  const users = usePages('listAppUsers', { app_id: app.id, limit: 100 });
  const create = useChange('createAppUser');
  if (me === undefined || users.data?.length !== 0) return null;
  const add = async () => {
    const ended = await create.perform({ app_id: app.id, email: me.email, full_name: me.full_name });
    sayOutcome(ended, 'You are a user of this app now. The preview shows it as you.', 'You were not added.');
    if ('data' in ended) onAdded(ended.data.id);
  };
  return (
    <div className="flex shrink-0 flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line bg-card px-4 py-2">
      <p className="min-w-0 grow basis-list text-dense">
        Nobody has an account in this app yet, so you see what visitors see. To see the rest, become its first user.
      </p>
      <Button icon={UserPlus} isBusy={create.isSending} onClick={() => void add()}>
        Add me and sign me in
      </Button>
    </div>
  );
}

/** How long a page that has loaded may take to say which revision it is of. */
const silentMs = 3_000;

/** Listens to the page in the frame, and to nobody else. */
function usePageReport({ url, sandboxed }: Preview, load: string) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [{ of, report }, setState] = useState({ of: load, report: nothingReported });
  const [silent, setSilent] = useState('');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // What an earlier page has reported says nothing about the one that loads now.
  const current = of === load ? report : nothingReported;
  useEffect(() => {
    const origin = sandboxed || url === null ? 'null' : new URL(url).origin;
    const listen = ({ source, origin: sender, data }: MessageEvent<unknown>) => {
      if (source === null || source !== frame.current?.contentWindow || sender !== origin) return;
      clearTimeout(timer.current);
      setSilent('');
      setState((before) => ({
        of: load,
        report: addMessage(before.of === load ? before.report : nothingReported, data),
      }));
    };
    addEventListener('message', listen);
    return () => {
      clearTimeout(timer.current);
      removeEventListener('message', listen);
    };
  }, [url, sandboxed, load]);
  const onLoad = () => {
    clearTimeout(timer.current);
    if (current.revision === undefined) timer.current = setTimeout(() => setSilent(load), silentMs);
  };
  return { frame, report: current, isSilent: silent === load && current.revision === undefined, onLoad };
}

interface LabelProps {
  readonly report: PageReport;
  readonly wanted: number;
  readonly isSilent: boolean;
}

/** Says the revision that the page in the frame has named, and nothing before it has. */
function RevisionLabel({ report: { revision }, wanted, isSilent }: LabelProps) {
  const { published } = useApp();
  const text =
    revision === undefined
      ? isSilent
        ? 'revision not known'
        : `loading revision ${wanted}…`
      : revision === published?.revision
        ? `revision ${revision}, live`
        : `revision ${revision}, not published`;
  return (
    <p
      role="status"
      className="order-last w-full min-w-0 truncate px-2 text-dense text-quiet middle:order-none middle:w-auto middle:grow middle:text-center"
    >
      {text}
    </p>
  );
}

function PageErrors({ revision, report }: { readonly revision: number; readonly report: PageReport }) {
  const app = useApp();
  const sending = useSending(app.id);
  const [isOpen, setOpen] = useState(false);
  const { errors } = report;
  const [first] = errors;
  const isWorking = app.status.state === 'processing';
  const ask = async () => {
    if (await sending.send(askToFix(revision, errors))) say('good', 'The assistant looks at it.');
  };
  return (
    <section
      aria-label="Errors of the page"
      className={classNames('flex shrink-0 flex-col gap-1 px-4 py-2', toneClass('bad'))}
    >
      <div className="flex flex-wrap items-center gap-2">
        <ToneIcon tone="bad" />
        <p className="min-w-0 grow basis-list font-mono text-dense">{first && describeError(first)}</p>
        <Button
          icon={Wrench}
          isBusy={sending.isSending}
          reason={isWorking ? 'The assistant is working already.' : undefined}
          onClick={() => void ask()}
        >
          Ask the assistant to fix this
        </Button>
        {errors.length > 1 && (
          <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {plural(errors.length - 1, 'more error', 'more errors')}
          </Button>
        )}
      </div>
      {isOpen && (
        <ul className="max-h-list overflow-y-auto font-mono text-dense">
          {errors.slice(1).map((error) => (
            <li key={describeError(error)}>{describeError(error)}</li>
          ))}
        </ul>
      )}
      {sending.problem && <Problem {...sending.problem} />}
    </section>
  );
}
