// Suggests search themes (docs/api/ads.md#search-themes). Nothing is stored, and a call that returns no themes
// is free.
import { perCall } from '../../../core/auth/prices.ts';
import type { AppAccess, AppRow } from '../../../core/auth/proofs.ts';
import { type Reservation, refund, reserve, settle } from '../../../core/credits/reservations.ts';
import { countSuggestion, uncountSuggestion } from '../../../core/credits/unpaid.ts';
import type { AppAddresses } from '../../../core/identity/app-addresses.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import type { Clock } from '../../../kit/clock.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import type { Db } from '../../../tables.ts';
import { describeBusiness } from './brief.ts';
import type { ThemeRequest } from './contract.ts';
import { chooseLanguage } from './languages.ts';
import { askModel, dropDuplicates, readTexts, themeInstructions } from './prompt.ts';

export interface ThemeDeps {
  readonly model: LanguageModel;
  /** The operator's own name for this installation, in addition to Plinth. */
  readonly productName: string | undefined;
  readonly addresses: Pick<AppAddresses, 'urlOf'>;
  readonly clock: Clock;
  readonly shutdownSignal: AbortSignal;
}

interface Suggestion {
  readonly search_themes: string[];
}

const cost = 0.1;
export const themesPrice = perCall(cost);
const maxAnswerMs = 20_000;
const leaseMs = 60_000;

interface Suggested {
  readonly app: Pick<AppRow, 'workspace_id' | 'id'>;
  /** When the request was counted, if the model was asked. */
  readonly countedAt: Date;
  readonly reservation: Reservation;
  /** Undefined if the model did not answer with one list. */
  readonly search_themes: string[] | undefined;
}

/**
 * Asks the model before any transaction begins. What is reserved here is charged only together with the stored answer,
 * and is released by itself if the process is killed before. Likewise, the request is counted here as work that nobody
 * pays for, and stays counted unless it is charged.
 */
export async function askForThemes(
  db: Db,
  deps: ThemeDeps,
  access: AppAccess,
  { sent, acceptLanguage }: { readonly sent: ThemeRequest; readonly acceptLanguage: string | string[] | undefined },
  now: Date,
): Promise<Suggested> {
  const { workspace_id, app, caller } = access;
  const isAsked = await deps.model.check();
  const spend = { workspace_id, user_id: caller.user_id, app_id: app.id, reference_id: null };
  const reservation = await transaction(db, async (db) => {
    if (isAsked) await countSuggestion(db, app, now);
    return reserve(db, { ...spend, operation: 'suggestSearchThemes', amount: cost, leaseMs }, now);
  });
  const task = {
    task: 'search_themes',
    instructions: themeInstructions,
    language: chooseLanguage(acceptLanguage),
    business: describeBusiness(app, sent, deps.addresses.urlOf(app.slug)),
  } as const;
  const signal = AbortSignal.any([deps.shutdownSignal, AbortSignal.timeout(maxAnswerMs)]);
  const answer = isAsked ? await askModel(deps.model, task, signal) : 'unavailable';
  const hasNotWorked = answer === 'unavailable' || (answer === 'unusable' && deps.shutdownSignal.aborted);
  if (isAsked && hasNotWorked) await uncountSuggestion(db, app, now);
  const list = typeof answer === 'string' ? undefined : findList(answer.value);
  const search_themes = list && selectThemes(readTexts(list), deps.productName);
  return { app, countedAt: now, reservation, search_themes };
}

export async function suggestSearchThemes(
  db: Db,
  { clock }: Pick<ThemeDeps, 'clock'>,
  { app, countedAt, reservation, search_themes }: Suggested,
): Promise<Answer<Suggestion>> {
  await transaction(db, async (db) => {
    if (!search_themes?.length) return refund(db, reservation, clock.now());
    await uncountSuggestion(db, app, countedAt);
    await settle(db, reservation, cost, clock.now());
  });
  return withNotes({ search_themes: search_themes ?? [] }, search_themes ? {} : { partial: ['search_themes'] });
}

/** Models often wrap the list in an object. Undefined if the reply has no list or more than one. */
function findList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  const lists = Object.values(value ?? {}).filter((each) => Array.isArray(each));
  return lists.length === 1 ? lists[0] : undefined;
}

const maxThemes = 10;
const maxCharacters = 80;
const maxWords = 10;

/**
 * Returns up to ten themes, in the model's order. Drops themes that the ad platform refuses or that name this product.
 */
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

/**
 * Matches whole words only, so `Base` does not match `database`. Scripts without spaces may follow the word directly.
 */
const toWordPattern = (name: string): RegExp => new RegExp(`(?<!${letter})${RegExp.escape(name)}(?!${letter})`, 'v');
const letter = '[\\p{L}--[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}]]';

const fold = (text: string): string => text.normalize('NFKC').toLowerCase();
