// Owns suggesting search themes (docs/api/ads.md#search-themes). Nothing is stored, and an answer without themes costs nothing.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { refund, reserve, settle } from '../../../core/credits/reservations.ts';
import type { AppAddresses } from '../../../core/identity/app-addresses.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import type { Clock } from '../../../kit/clock.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import type { Db } from '../../../tables.ts';
import { describeBusiness } from './brief.ts';
import type { ThemeRequest } from './contract.ts';
import { chooseLanguage } from './languages.ts';
import { askModel, dropDuplicates, readTexts, themeInstructions } from './prompt.ts';

export interface ThemeDeps {
  readonly model: LanguageModel;
  /** The name under which the operator offers this installation, beside Plinth. */
  readonly productName: string | undefined;
  readonly addresses: Pick<AppAddresses, 'urlOf'>;
  readonly clock: Clock;
  readonly shutdownSignal: AbortSignal;
}

interface Suggestion {
  readonly search_themes: string[];
}

const cost = 0.1;
const maxAnswerMs = 20_000;
const leaseMs = 60_000;

export async function suggestSearchThemes(
  db: Db,
  deps: ThemeDeps,
  access: AppAccess,
  sent: ThemeRequest,
  acceptLanguage: string | string[] | undefined,
  now: Date,
): Promise<Answer<Suggestion>> {
  const { model, clock, shutdownSignal } = deps;
  const { workspace_id, app, caller } = access;
  const spend = { workspace_id, user_id: caller.user_id, app_id: app.id, reference_id: null };
  const reservation = await reserve(db, { ...spend, operation: 'suggestSearchThemes', amount: cost, leaseMs }, now);
  const task = {
    task: 'search_themes',
    instructions: themeInstructions,
    language: chooseLanguage(acceptLanguage),
    business: describeBusiness(app, sent, deps.addresses.urlOf(app.slug)),
  } as const;
  const signal = AbortSignal.any([shutdownSignal, AbortSignal.timeout(maxAnswerMs)]);
  const answer = (await model.check()) ? await askModel(model, task, signal) : undefined;
  const list = findList(answer?.value);
  const search_themes = selectThemes(readTexts(list), deps.productName);
  if (search_themes.length > 0) await settle(db, reservation, cost, clock.now());
  else await refund(db, reservation, clock.now());
  return withNotes({ search_themes }, list === undefined ? { partial: ['search_themes'] } : {});
}

/** Models like to wrap the list in an object. Undefined if the answer has no list, or several. */
function findList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  const lists = Object.values(value ?? {}).filter((each) => Array.isArray(each));
  return lists.length === 1 ? lists[0] : undefined;
}

const maxThemes = 10;
const maxCharacters = 80;
const maxWords = 10;

/** At most ten, in the model's order. Themes that the ad platform refuses, and those that name this product, are dropped. */
export function selectThemes(texts: readonly string[], productName: string | undefined): string[] {
  const ownNames = ['plinth', ...(productName === undefined ? [] : [fold(productName)])].map(toWordPattern);
  const usable = texts.filter(
    (text) =>
      text !== '' &&
      [...text].length <= maxCharacters &&
      text.split(' ').length <= maxWords &&
      !ownNames.some((name) => name.test(fold(text))),
  );
  return dropDuplicates(usable).slice(0, maxThemes);
}

/** The whole word: `Base` is not in `database`. Scripts without spaces may follow it directly. */
const toWordPattern = (name: string): RegExp => new RegExp(`(?<!${letter})${RegExp.escape(name)}(?!${letter})`, 'v');
const letter = '[\\p{L}--[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}]]';

const fold = (text: string): string => text.normalize('NFKC').toLowerCase();
