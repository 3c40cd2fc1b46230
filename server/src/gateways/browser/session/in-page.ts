// The functions that run in a page. Each function is sent as text, so it can't use anything outside itself. A page
// can falsify the results, but only those about itself.

export interface ElementDetails {
  readonly label: string | null;
  readonly placeholder: string | null;
  readonly text: string | null;
  readonly test_id: string | null;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly width: number;
  readonly height: number;
}

/**
 * The part of the DOM that these functions use. The full DOM types would make the DOM's global names visible in all
 * server code.
 */
export interface PageElement {
  readonly tagName: string;
  readonly type?: string;
  readonly value?: string;
  readonly checked?: boolean;
  readonly disabled?: boolean;
  readonly isContentEditable?: boolean;
  readonly innerText?: string;
  readonly textContent: string | null;
  readonly labels?: Iterable<PageElement> | null;
  readonly selectedOptions?: Iterable<PageElement>;
  readonly parentElement: PageElement | null;
  readonly scrollWidth: number;
  readonly clientWidth: number;
  readonly ownerDocument: {
    readonly documentElement: PageElement;
    readonly title: string;
    readonly defaultView: {
      readonly innerWidth: number;
      getComputedStyle(element: PageElement): Record<string, string>;
    };
  };
  getAttribute(name: string): string | null;
  getBoundingClientRect(): Box;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

export function readDetails(element: PageElement): ElementDetails {
  const isField = ['INPUT', 'TEXTAREA', 'SELECT'].includes(element.tagName);
  const labels = [...(element.labels ?? [])].map((label) => label.innerText ?? label.textContent ?? '');
  return {
    label: isField || element.isContentEditable ? (element.getAttribute('aria-label') ?? labels[0] ?? null) : null,
    placeholder: element.getAttribute('placeholder'),
    text: isField ? null : (element.innerText ?? element.textContent),
    test_id:
      element.getAttribute('data-testid') ?? element.getAttribute('data-test-id') ?? element.getAttribute('data-test'),
  };
}

/** A field's contents in words. A list has both its selection's text and its value. */
export function readValues(element: PageElement): string[] {
  const checked = element.getAttribute('aria-checked');
  if (element.type === 'checkbox' || element.type === 'radio') return [element.checked ? 'checked' : 'not checked'];
  if (checked !== null) return [checked === 'true' ? 'checked' : 'not checked'];
  if (element.tagName === 'SELECT') {
    const texts = [...(element.selectedOptions ?? [])].map((option) => option.textContent?.trim() ?? '');
    return [texts.join(', '), element.value ?? ''];
  }
  if (typeof element.value === 'string' && element.tagName !== 'BUTTON') return [element.value];
  return [(element.innerText ?? element.textContent ?? '').trim()];
}

export const readText = (element: PageElement): string =>
  ['INPUT', 'TEXTAREA'].includes(element.tagName)
    ? (element.value ?? '')
    : (element.innerText ?? element.textContent ?? '');

export const isPasswordField = (element: PageElement): boolean => element.type === 'password';

export const isSelect = (element: PageElement): boolean => element.tagName === 'SELECT';
