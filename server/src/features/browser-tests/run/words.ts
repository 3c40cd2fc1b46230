// The report's wording: actions, elements and checks in everyday terms.
import type { Check, FoundBy, PageAction, Place, Target } from '../../../gateways/browser/session/types.ts';

const maxShown = { name: 80, text: 120, step: 500 };

/** Returns the name of the element with this ref. */
export type NameRef = (ref: string) => string;

export function describeAction(action: PageAction, nameRef: NameRef = nameByRef): string {
  const at = (place: Place) => describePlace(place, nameRef);
  switch (action.action) {
    case 'open':
      return shorten(`Open ${action.path}`);
    case 'click':
      return shorten(`Click ${at(action.place)}`);
    case 'type':
      return shorten(`Type ${quote(action.text)} into ${at(action.place)}${action.submit ? ' and press Enter' : ''}`);
    case 'select':
      return shorten(`Select ${quote(action.option)} in ${at(action.place)}`);
    case 'resize':
      return `Resize the window to ${action.width} × ${action.height}`;
    case 'wait':
      return shorten(`Wait until ${describeCheck(action.check, nameRef)}`);
  }
}

/** Phrased as a clause, such as `button "Add" is visible`. */
export function describeCheck(check: Check, nameRef: NameRef = nameByRef): string {
  const at = (place: Place) => describePlace(place, nameRef);
  switch (check.kind) {
    case 'visible':
    case 'hidden':
      return shorten(`${at(check.place)} is ${check.kind}`);
    case 'text':
    case 'no_text': {
      const where = check.place === null ? 'the page' : at(check.place);
      return shorten(`${where} ${check.kind === 'text' ? 'shows' : 'does not show'} ${quote(check.text)}`);
    }
    case 'value':
      return shorten(`${at(check.place)} contains ${quote(check.value)}`);
    case 'count':
      return shorten(
        `the number of ${describeElement({ role: check.role, name: check.name ?? '' })} is ${check.count}`,
      );
    case 'url':
      return shorten(`the address contains ${quote(check.contains)}`);
    case 'fits':
      return 'the page fits the window';
  }
}

const describePlace = (place: Place, nameRef: NameRef = nameByRef): string =>
  'ref' in place ? nameRef(place.ref) : describeElement(place.target);

export const describeElement = ({ role, name }: Pick<Target, 'role' | 'name'>): string =>
  name === '' ? role : `${role} ${quoteName(name)}`;

/** Describes the element found in place of a recorded target, and how it was found. */
export const describeFound = (target: Target, foundBy: FoundBy): string =>
  shorten(`${describeElement(target)}, found ${foundByWords[foundBy](target)}`);

const foundByWords: Readonly<Record<FoundBy, (target: Target) => string>> = {
  role_and_name: () => 'by its role and name',
  elsewhere: ({ within }) => `in ${within ?? 'another part of the page'}`,
  label: () => 'by its label',
  placeholder: () => 'by its placeholder',
  text: () => 'by its text',
  test_id: () => 'by its test id',
  only_such_role: ({ role }) => `as the only ${role} nearby`,
};

const nameByRef: NameRef = (ref) => `element ${ref}`;

const quote = (text: string): string => `"${cut(text, maxShown.text)}"`;
const quoteName = (name: string): string => `"${cut(name, maxShown.name)}"`;

/** Cuts a step's text to its maximum length. */
export const shorten = (text: string): string => cut(text, maxShown.step);

const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`;
