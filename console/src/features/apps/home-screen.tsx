// Home: what do you want to build? Then the apps that were changed last.
import { Link, useNavigate } from '@tanstack/react-router';
import { ArrowRight, Lock, Sparkles, Users } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useWorkspaceId } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation } from '../../data/use-operation.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Composer } from '../../ui/composer.tsx';
import { Menu, MenuItem } from '../../ui/menu.tsx';
import { Panel, Remark } from '../../ui/panel.tsx';
import { Problem } from '../../ui/problem.tsx';
import {
  ConnectModel,
  isSameRequest,
  PutBack,
  StandInWarning,
  useReplaceableDraft,
  useStandInRequests,
} from '../../ui/stand-in.tsx';
import { formatNumber } from '../../ui/times.ts';
import { AppCard } from './app-card.tsx';
import { nameApp } from './names.ts';

const examples = [
  'A task list with owners',
  'A sign-up sheet for our summer party',
  'A page where customers book a table',
];

export function HomeScreen({ ws, mayBuild }: { readonly ws: string; readonly mayBuild: boolean }) {
  const apps = useOperation(
    'listApps',
    { app_type: 'user_app,imported_app', sort: '-updated_date', limit: 9 },
    { every: 30_000 },
  );
  useEffect(() => {
    document.title = 'Home · Plinth';
  }, []);
  const isEmpty = apps.data?.items.length === 0;
  return (
    <div className="mx-auto flex w-full max-w-page flex-col gap-12 p-4 pb-12 middle:p-8">
      <div className="mx-auto flex w-full max-w-reading flex-col gap-6 pt-6 middle:pt-16">
        <h1 className="text-center text-title font-semibold">What do you want to build?</h1>
        {mayBuild ? (
          <Prompt isFirst={isEmpty} />
        ) : (
          <Remark>
            Your role in this workspace lets you look at apps, but not build them. Ask an admin for the role of an
            editor.
          </Remark>
        )}
      </div>
      {!(isEmpty && mayBuild) && (
        <section aria-labelledby="your-apps" className="flex flex-col gap-4">
          <div className="flex items-center justify-between gap-3">
            <h2 id="your-apps" className="text-heading font-semibold">
              Apps
            </h2>
            <Link to="/w/$ws/apps" params={{ ws }} className={classNames(buttonClass('quiet'), '-mr-3')}>
              All apps
              <ArrowRight size={16} aria-hidden />
            </Link>
          </div>
          <Panel
            read={apps}
            lines={4}
            isEmpty={({ items }) => items.length === 0}
            empty="There are no apps here that you may see yet. Whoever builds one can share it with you."
          >
            {({ items }) => (
              <ul className="grid grid-cols-1 gap-4 middle:grid-cols-2 wide:grid-cols-3">
                {items.map((app) => (
                  <li key={app.id} className="flex min-w-0 flex-col">
                    <AppCard app={app} />
                  </li>
                ))}
              </ul>
            )}
          </Panel>
        </section>
      )}
    </div>
  );
}

const visibilities = {
  workspace: { label: 'Visible to the workspace', icon: Users },
  private: { label: 'Only you and admins', icon: Lock },
} as const;

/** Where nothing is built yet, one sentence says what to do, and one button does it. */
function Prompt({ isFirst }: { readonly isFirst: boolean }) {
  const workspaceId = useWorkspaceId();
  const navigate = useNavigate();
  const info = useOperation('serverInfo', {});
  const credits = useOperation('getCredits', {}, { every: 60_000 });
  const prices = useOperation('listPrices', {});
  const create = useChange('createApp');
  const input = useRef<HTMLTextAreaElement>(null);
  const draft = useReplaceableDraft(`new.${workspaceId}`);
  const { text } = draft;
  const [visibility, setVisibility] = useState<keyof typeof visibilities>('workspace');
  const price = prices.data?.items.find(({ operation }) => operation === 'sendChatMessage')?.at_least;
  const Icon = visibilities[visibility].icon;
  const hasModel = info.data?.features.model !== false;
  // Only the first one begins an app.
  const playable = useStandInRequests().slice(0, 1);
  const offered = playable.length > 0 ? playable : examples;
  const isUnplayable = playable.length > 0 && text.trim() !== '' && !playable.some((each) => isSameRequest(each, text));
  /** Changes the text by a button, which goes away. The focus comes to the text. */
  const changeText = (change: () => void) => {
    change();
    input.current?.focus();
  };
  const build = async (content = text.trim()) => {
    const ended = await create.perform({ name: nameApp(content), visibility, initial_message: { content } });
    if (!('data' in ended)) return;
    draft.clear();
    await navigate({ to: '/editor/$app/preview', params: { app: ended.data.id } });
  };
  return (
    <div className="flex flex-col gap-4">
      {!hasModel && (
        <Remark>
          No language model is configured, so nothing can be built by chat yet. Whoever operates this installation
          connects one. <ConnectModel />
        </Remark>
      )}
      <Composer
        isLarge
        isFocused
        inputRef={input}
        label="What do you want to build?"
        placeholder="Describe an app in your own words: who uses it, and what for"
        text={text}
        onText={draft.setText}
        onSend={() => void build()}
        action="Build"
        icon={ArrowRight}
        isSending={create.isSending}
        reason={hasModel ? undefined : 'No language model is configured.'}
      >
        <Menu
          label={
            <>
              <Icon size={16} aria-hidden />
              {visibilities[visibility].label}
            </>
          }
        >
          {(['workspace', 'private'] as const).map((each) => (
            <MenuItem
              key={each}
              icon={visibilities[each].icon}
              isChosen={each === visibility}
              onSelect={() => setVisibility(each)}
            >
              {visibilities[each].label}
            </MenuItem>
          ))}
        </Menu>
        {price && <Price atLeast={price} remaining={credits.data?.remaining} />}
      </Composer>
      {create.error && <Problem error={create.error} title="The app was not created" onAgain={() => void build()} />}
      {text === '' && hasModel && isFirst && offered[0] !== undefined && (
        <div className="flex flex-col items-center gap-3 text-center">
          <p>Nothing is built here yet: describe your first app above, or see how it goes with an example.</p>
          <Button icon={Sparkles} isBusy={create.isSending} onClick={() => void build(offered[0])}>
            Build “{offered[0]}”
          </Button>
        </div>
      )}
      {text === '' && hasModel && !isFirst && (
        <ul aria-label="Examples" className="flex flex-wrap justify-center gap-2">
          {offered.map((example) => (
            <li key={example}>
              <button
                type="button"
                onClick={() => changeText(() => draft.setText(example))}
                className="target rounded-full border border-line bg-card px-3 text-dense text-quiet shadow-card transition-colors hover:bg-hover hover:text-text"
              >
                {example}
              </button>
            </li>
          ))}
        </ul>
      )}
      {isUnplayable && (
        <StandInWarning
          playable={playable}
          otherwise="To a request in your own words it most likely answers that it can't build that, and the app stays empty."
          onChoose={(request) => changeText(() => draft.replace(request))}
        />
      )}
      {!isUnplayable && draft.putBack && (
        <div className="flex justify-center">
          <PutBack putBack={() => changeText(() => draft.putBack?.())} />
        </div>
      )}
      {playable.length > 0 && !isUnplayable && (
        <div className="mx-auto max-w-dialog text-center text-dense text-quiet">
          No language model is connected, so a stand-in answers. It can build one app, a recorded example:{' '}
          {text !== ''
            ? 'press Build.'
            : isFirst
              ? 'press the button above.'
              : 'press the request above, and then Build.'}{' '}
          <ConnectModel />
        </div>
      )}
    </div>
  );
}

/** Null means without limit, undefined that it was not read. */
function Price({ atLeast, remaining }: { readonly atLeast: number; readonly remaining: number | null | undefined }) {
  const price = `at least ${formatNumber(atLeast)}`;
  if (remaining === undefined) return <span>{price} credits</span>;
  return <span>{remaining === null ? `${price} credits` : `${price} of ${formatNumber(remaining)} credits`}</span>;
}
