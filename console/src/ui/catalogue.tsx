// The catalogue of components: each in each of its states, at `/account/components`. No menu leads there; people who
// change a component look at it here, and a test visits it in both themes and three widths.
import { ArrowRight, Rocket, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { PlinthError } from '../data/client.ts';
import type { Read } from '../data/use-operation.ts';
import { Age, Since } from './age.tsx';
import { Badge, type Tone } from './badge.tsx';
import { Button, IconButton } from './button.tsx';
import { Composer } from './composer.tsx';
import { CopyButton } from './copy-button.tsx';
import { Confirm, Dialog } from './dialog.tsx';
import { readDiff } from './diff.ts';
import { DiffView } from './diff-view.tsx';
import { Field, Select } from './field.tsx';
import { Figure } from './figure.tsx';
import { Markdown } from './markdown.tsx';
import { Menu, MenuItem, MenuLine } from './menu.tsx';
import { say } from './outcome.tsx';
import { Panel } from './panel.tsx';
import { Problem } from './problem.tsx';
import { Screen, Section } from './screen.tsx';
import { StandInWarning } from './stand-in.tsx';

const tones: readonly Tone[] = ['neutral', 'active', 'good', 'wait', 'bad', 'unknown'];

const notes = {
  partial: [],
  ignored: [],
  warnings: [],
  truncated: false,
  changed: true,
  replayed: false,
  asOf: undefined,
  rateLimit: undefined,
} as unknown as NonNullable<Read<unknown>['notes']>;

const refused = new PlinthError({
  code: 'role_required',
  operation: 'listAppUsers',
  message: 'listAppUsers: You need at least the role editor in this app. Ask its owner to share it with you.',
  status: 403,
  requestId: '01a1f2e7-054f-76c5-bf27-1112f5a1b1e4',
});
const missing = new PlinthError({
  code: 'app_not_found',
  operation: 'getApp',
  message: 'getApp: The app does not exist.',
  status: 404,
});
const unknown = new PlinthError({
  code: 'unreachable',
  operation: 'publishApp',
  message: 'publishApp: No whole answer arrived.',
  outcomeUnknown: true,
});

const read: Read<readonly string[]> = {
  data: ['Water the plants', 'Buy tea'],
  notes,
  readAt: Date.now(),
  error: null,
  isReading: false,
  every: undefined,
  again: () => say('neutral', 'Read again.'),
};

const states: readonly { readonly name: string; readonly read: Read<readonly string[]> }[] = [
  { name: 'Complete', read },
  { name: 'Loading', read: { ...read, data: undefined, notes: undefined, isReading: true } },
  { name: 'Empty', read: { ...read, data: [] } },
  { name: 'Partial', read: { ...read, notes: { ...notes, partial: ['live_users'] } } },
  { name: 'Cut', read: { ...read, notes: { ...notes, truncated: true } } },
  { name: 'Without a worker', read: { ...read, notes: { ...notes, warnings: ['no_worker_seen'] } } },
  { name: 'Old', read: { ...read, readAt: Date.now() - 3_600_000, every: 10_000 } },
  { name: 'Refused', read: { ...read, data: undefined, error: refused } },
  { name: 'Refused, with an older answer', read: { ...read, error: refused } },
  { name: 'Unknown', read: { ...read, data: undefined, error: unknown } },
];

const diff = '@@ -12,3 +12,3 @@\n const list = [];\n-const due = null;\n+const due = item.due_date;\n export {};';
const text =
  'Tasks have a **due date** now. The form asks for it, and `app.js` shows it.\n\n- It may be left empty.\n- <img src=x onerror=alert(1)> stays text.';

export function Catalogue() {
  const [isOpen, setOpen] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [wish, setWish] = useState('');
  const [choice, setChoice] = useState<'a' | 'b'>('a');
  return (
    <main className="h-full overflow-y-auto">
      <Screen title="Components">
        <Part title="Buttons">
          <Button kind="primary" icon={Rocket}>
            Publish revision 9
          </Button>
          <Button>Plain</Button>
          <Button kind="quiet">Quiet</Button>
          <Button kind="danger" icon={Trash2}>
            Delete
          </Button>
          <Button isBusy>Saving</Button>
          <Button reason="You need the role of an editor.">Not allowed</Button>
          <CopyButton text="orders" label="Copy" />
          <IconButton icon={ArrowRight} name="Continue" />
          <IconButton icon={ArrowRight} name="Pressed" isPressed />
        </Part>
        <Part title="Badges, figures and times">
          {tones.map((tone) => (
            <Badge key={tone} tone={tone}>
              {tone}
            </Badge>
          ))}
          <Figure value={12_034} />
          <Figure value={undefined} />
          <Figure value={0} part="live_users" notes={{ ...notes, partial: ['live_users'] }} />
          <Age readAt={Date.now()} />
          <Since time={new Date(Date.now() - 7_200_000).toISOString()} />
        </Part>
        <Section title="Fields">
          <div className="grid gap-4 middle:grid-cols-3">
            <Field label="With a hint" hint="Lowercase letters, digits and hyphens." defaultValue="orders" />
            <Field label="With a fault" fault="This must have at most 100 characters." defaultValue="Order book" />
            <Select<'a' | 'b'>
              label="A choice"
              value={choice}
              options={[
                { value: 'a', label: 'All members' },
                { value: 'b', label: 'Only its owner' },
              ]}
              onChoose={(next) => setChoice(next)}
            />
          </div>
          <Composer
            label="A message"
            placeholder="What should change?"
            text={wish}
            action="Send"
            icon={ArrowRight}
            onText={setWish}
            onSend={() => say('good', 'Sent.')}
          >
            at least 0.5 credits
          </Composer>
        </Section>
        <Part title="Dialogs, menus and messages">
          <Button onClick={() => setOpen(true)}>Open a dialog</Button>
          <Button onClick={() => setAsking(true)}>Ask before deleting</Button>
          <Menu label="A menu" kind="plain">
            <MenuItem icon={Rocket} isChosen onSelect={() => say('good', 'Chosen.')}>
              Chosen
            </MenuItem>
            <MenuLine />
            <MenuItem icon={Trash2} isDangerous onSelect={() => say('bad', 'Deleted.')}>
              Delete
            </MenuItem>
          </Menu>
          {tones.map((tone) => (
            <Button key={tone} onClick={() => say(tone, `A message of the tone ${tone}.`)}>
              Say “{tone}”
            </Button>
          ))}
          <Dialog isOpen={isOpen} title="A dialog" onClose={() => setOpen(false)}>
            <p>Its content.</p>
          </Dialog>
          <Confirm
            isOpen={isAsking}
            title="Delete “Orders”?"
            action="Move to the trash"
            onConfirm={() => setAsking(false)}
            onClose={() => setAsking(false)}
          >
            <p>You can restore it for 30 days.</p>
          </Confirm>
        </Part>
        <Section title="Without a language model">
          <StandInWarning
            playable={['A task list']}
            otherwise="To other requests it answers nothing."
            onChoose={setWish}
          />
        </Section>
        <Section title="Problems">
          <Problem error={refused} title="The users were not read" onAgain={read.again} />
          <Problem error={missing} />
          <Problem error={unknown} title="Not known" onAgain={read.again} />
        </Section>
        {states.map((state) => (
          <Section key={state.name} title={`Panel: ${state.name}`}>
            <Panel read={state.read} lines={2} empty="Nobody has added a task yet.">
              {(items) => (
                <ul>
                  {items.map((item) => (
                    <li key={item}>{item}</li>
                  ))}
                </ul>
              )}
            </Panel>
          </Section>
        ))}
        <Section title="Texts and differences">
          <Markdown text={text} />
          <DiffView lines={readDiff(diff)} />
        </Section>
      </Screen>
    </main>
  );
}

const Part = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <Section title={title}>
    <div className="flex flex-wrap items-center gap-3">{children}</div>
  </Section>
);
