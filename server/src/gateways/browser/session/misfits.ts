// Finds elements that do not fit the window. All of this code runs in the page. The functions are sent together
// as one text, so they can use each other and nothing else.
import type { Box, PageElement } from './in-page.ts';

const maxMisfits = 5;

/** Describes the elements that do not fit the window. Empty if everything fits. */
function findMisfits(root: PageElement, max: number): string[] {
  const width = root.clientWidth;
  const misfits = root.scrollWidth > width + 1 ? [describeWidth(root, width)] : [];
  const controls =
    'button, a[href], input, select, textarea, summary, [role=button], [role=link], [role=tab], [role=menuitem]';
  for (const control of root.querySelectorAll(controls)) {
    if (misfits.length >= max) break;
    const misfit = describeControl(control, width);
    if (misfit !== undefined) misfits.push(misfit);
  }
  return misfits;
}

function describeWidth(root: PageElement, width: number): string {
  const wide = [...root.querySelectorAll('body *')].filter((element) => {
    const box = element.getBoundingClientRect();
    return isShown(element, box) && box.right > width + 1 && !isScrolled(element);
  });
  const [last] = wide.slice(-1);
  const culprit = last === undefined ? '' : `, for example ${nameElement(last)}`;
  return `the page is ${root.scrollWidth} px wide in a window of ${width} px${culprit}`;
}

function describeControl(control: PageElement, width: number): string | undefined {
  const box = control.getBoundingClientRect();
  if (!isShown(control, box) || control.type === 'hidden') return undefined;
  if (box.right > width + 1 || box.left < -1) {
    const isReachable = box.right <= 0 || isParked(control) || isScrolled(control);
    return isReachable ? undefined : `${nameElement(control)} extends beyond the window`;
  }
  if (isClipped(control, box)) return `${nameElement(control)} is cut off by a surrounding element`;
  return hidesText(control) ? `the text of ${nameElement(control)} is cut off` : undefined;
}

function nameElement(element: PageElement): string {
  const text = element.getAttribute('aria-label') ?? element.innerText ?? element.getAttribute('placeholder') ?? '';
  return `${element.tagName.toLowerCase()} ${JSON.stringify(text.replace(/\s+/g, ' ').trim().slice(0, 40))}`;
}

function styleOf(element: PageElement): Record<string, string> {
  return element.ownerDocument.defaultView.getComputedStyle(element);
}

function isShown(element: PageElement, box: Box): boolean {
  const { visibility, opacity } = styleOf(element);
  return box.width > 1 && box.height > 1 && visibility === 'visible' && opacity !== '0';
}

function hidesText(control: PageElement): boolean {
  if (['INPUT', 'SELECT', 'TEXTAREA'].includes(control.tagName)) return false;
  const { overflowX, textOverflow } = styleOf(control);
  const isHidden = /hidden|clip/.test(overflowX ?? '') && textOverflow !== 'ellipsis';
  return isHidden && control.scrollWidth > control.clientWidth + 1;
}

/** Whether the element is kept outside the window until it is needed, as menus often are. */
function isParked(element: PageElement): boolean {
  for (let each: PageElement | null = element; each !== null; each = each.parentElement) {
    const { transform, position } = styleOf(each);
    if (transform !== 'none' && (position === 'fixed' || position === 'absolute')) return true;
  }
  return false;
}

/** The element's ancestors, from the inside out, excluding the body. */
function listAround(element: PageElement): PageElement[] {
  const around: PageElement[] = [];
  for (let each = element.parentElement; each !== null && each.tagName !== 'BODY'; each = each.parentElement)
    around.push(each);
  return around;
}

function isScrolled(element: PageElement): boolean {
  return listAround(element).some((each) => /auto|scroll/.test(styleOf(each).overflowX ?? ''));
}

/** Whether an ancestor cuts the element off without making it reachable by scrolling. */
function isClipped(element: PageElement, box: Box): boolean {
  for (const each of listAround(element)) {
    const { overflowX, overflowY, position } = styleOf(each);
    const around = each.getBoundingClientRect();
    const hidesX = /hidden|clip/.test(overflowX ?? '');
    const hidesY = /hidden|clip/.test(overflowY ?? '');
    // A closed menu hides all its contents, which is different from cutting them off.
    if (hidesX && (around.width <= 1 || box.left >= around.right - 1 || box.right <= around.left + 1)) return false;
    if (hidesY && (around.height <= 1 || box.top >= around.bottom - 1 || box.bottom <= around.top + 1)) return false;
    if (/auto|scroll/.test(`${overflowX}${overflowY}`)) return false;
    if (hidesX && (box.right > around.right + 1 || box.left < around.left - 1)) return true;
    if (hidesY && (box.bottom > around.bottom + 1 || box.top < around.top - 1)) return true;
    if (position === 'fixed') return false;
  }
  return false;
}

const parts = [
  findMisfits,
  describeWidth,
  describeControl,
  nameElement,
  styleOf,
  isShown,
  hidesText,
  isParked,
  listAround,
  isScrolled,
  isClipped,
];

/** Evaluated on the root element. Built from text, because the browser receives the text of a single function. */
export const listMisfits = new Function('root', `${parts.join('\n')}\nreturn findMisfits(root, ${maxMisfits});`) as (
  root: PageElement,
) => string[];
