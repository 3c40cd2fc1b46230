// Owns the functions that run in a page. Each is sent as text, so it may use nothing from outside of itself. The page can change
// what they see, but only to lie about itself.

export interface ElementDetails {
  readonly label: string | null;
  readonly placeholder: string | null;
  readonly text: string | null;
  readonly test_id: string | null;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly width: number;
  readonly height: number;
}

/** What these functions use of the DOM. The types of the whole DOM would make its names known to the server. */
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

/** What a person would say that a field contains. A list has both the text and the value of what is selected. */
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

/** What does not fit the window: empty if everything does. */
export function listMisfits(root: PageElement): string[] {
  const view = root.ownerDocument.defaultView;
  const width = root.clientWidth;
  const misfits: string[] = [];
  const nameOf = (element: PageElement) => {
    const text = element.getAttribute('aria-label') ?? element.innerText ?? element.getAttribute('placeholder') ?? '';
    return `${element.tagName.toLowerCase()} ${JSON.stringify(text.replace(/\s+/g, ' ').trim().slice(0, 40))}`;
  };
  const isShown = (element: PageElement, box: Box) => {
    const { visibility, opacity } = view.getComputedStyle(element);
    return box.width > 1 && box.height > 1 && visibility === 'visible' && opacity !== '0';
  };
  /** Hidden beside the window until it is needed, as menus are. */
  const isParked = (element: PageElement): boolean => {
    for (let each: PageElement | null = element; each !== null; each = each.parentElement) {
      const style = view.getComputedStyle(each);
      if (style.transform !== 'none' && (style.position === 'fixed' || style.position === 'absolute')) return true;
    }
    return false;
  };
  /** By an element around it that neither shows nor scrolls to what is outside of it. */
  const isClipped = (element: PageElement, box: Box): boolean => {
    for (let each = element.parentElement; each !== null && each !== root; each = each.parentElement) {
      const { overflowX, overflowY, position } = view.getComputedStyle(each);
      const around = each.getBoundingClientRect();
      const hidesX = /hidden|clip/.test(overflowX ?? '');
      const hidesY = /hidden|clip/.test(overflowY ?? '');
      // A closed menu hides all that is in it. That is not to say that it is cut off.
      if (hidesX && (around.width <= 1 || box.left >= around.right - 1 || box.right <= around.left + 1)) return false;
      if (hidesY && (around.height <= 1 || box.top >= around.bottom - 1 || box.bottom <= around.top + 1)) return false;
      if (/auto|scroll/.test(`${overflowX}${overflowY}`) && each.tagName !== 'BODY') return false;
      const isCutX = hidesX && (box.right > around.right + 1 || box.left < around.left - 1);
      const isCutY = hidesY && (box.bottom > around.bottom + 1 || box.top < around.top - 1);
      if (each.tagName !== 'BODY' && (isCutX || isCutY)) return true;
      if (position === 'fixed') return false;
    }
    return false;
  };
  const isScrolled = (element: PageElement): boolean => {
    for (let each = element.parentElement; each !== null && each !== root; each = each.parentElement)
      if (each.tagName !== 'BODY' && /auto|scroll/.test(view.getComputedStyle(each).overflowX ?? '')) return true;
    return false;
  };

  if (root.scrollWidth > width + 1) {
    const wide = [...root.querySelectorAll('body *')].filter((element) => {
      const box = element.getBoundingClientRect();
      return isShown(element, box) && box.right > width + 1 && !isScrolled(element);
    });
    const [last] = wide.slice(-1);
    const culprit = last === undefined ? '' : `, for example ${nameOf(last)}`;
    misfits.push(`the page is ${root.scrollWidth} px wide in a window of ${width} px${culprit}`);
  }
  const controls =
    'button, a[href], input, select, textarea, summary, [role=button], [role=link], [role=tab], [role=menuitem]';
  for (const control of root.querySelectorAll(controls)) {
    const box = control.getBoundingClientRect();
    if (!isShown(control, box) || control.type === 'hidden') continue;
    const isBeside = box.right > width + 1 || box.left < -1;
    if (isBeside && (box.right <= 0 || isParked(control) || isScrolled(control))) continue;
    const style = view.getComputedStyle(control);
    const hidesText =
      !['INPUT', 'SELECT', 'TEXTAREA'].includes(control.tagName) && /hidden|clip/.test(style.overflowX ?? '');
    if (isBeside) misfits.push(`${nameOf(control)} reaches beyond the window`);
    else if (isClipped(control, box)) misfits.push(`${nameOf(control)} is cut off by what is around it`);
    else if (hidesText && style.textOverflow !== 'ellipsis' && control.scrollWidth > control.clientWidth + 1)
      misfits.push(`the text of ${nameOf(control)} is cut off`);
    if (misfits.length >= 5) break;
  }
  return misfits;
}
