"""Convert formulas of the pages, which are lines of text, to MathML or LaTeX, with remarks in columns beside them."""

import html
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

COLUMNS = re.compile(r"\s{3,}")
IS_FORMULA = re.compile(r" [=∝←] |^[^ ]+\(.* \| |[_^]|/ |log₂")
LETTER = r"[a-zA-Zα-ωΓΦφ]\u0304?'?"
TOKEN = re.compile(
    r"\s+|\d+(?:[.,]\d+)*|\.\d+|[_^](?:\{[^}]*\})?|[²³ᵀᵈⁿ]|[₀-₉]+"
    rf"|[a-z]{{4,}}(?=_)|[a-z]{{2,}}(?![A-Za-z_α-ω\u0304])|[A-Z][A-Za-z]+|{LETTER}|."
)
WORD = re.compile(r"[A-Za-z]{2,}")
SUPERSCRIPTS = dict(zip("²³ᵀᵈⁿ", "23Tdn", strict=True))
FUNCTIONS = {"ln", "exp", "log", "max", "softmax", "argmax"}
PRODUCT_ENDS = set("=∝←+−<>,;:…") | {"and", "or"}
CLOSING = {"(": ")", "[": "]", "|": "|"}
SYMBOLS = {"Σ": r"\sum", "Π": r"\prod", "∫": r"\int", "·": r"\cdot", "∝": r"\propto", "←": r"\leftarrow", "−": "-"}
SYMBOLS |= {"|": r"\mid", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "∞": r"\infty", "%": r"\%", "…": r"\ldots"}


def set_formula(lines: list[str]) -> str:
    """Return a table on one line of HTML: a row for a line, a column where three spaces or more stand between.

    >>> set_formula(["a_1 / b   twice"])
    '<table class="formula"><tr><td><math><mfrac><msub><mi>a</mi><mn>1</mn></msub><mi>b</mi></mfrac></math></td>\
<td>twice</td></tr></table>'
    """
    cells = [COLUMNS.split(re.sub(r"\s+=", " =", line)) for line in lines]
    most = max(map(len, cells))
    rows = [[*map(_set, row)] for row in cells if row != [""]]
    return f'<table class="formula">{"".join(_row(row, most) for row in rows)}</table>'


def set_latex(lines: list[str]) -> str:
    """Return lines of Markdown with LaTeX between dollar signs, for notebooks.

    >>> print(set_latex(["a_1 / b   twice"]))
    $\\frac{{a}_{1}}{b}$ &emsp; twice
    """
    rows = [COLUMNS.split(re.sub(r"\s+=", " =", line)) for line in lines if line]
    return "  \n".join(" &emsp; ".join(f"${latex(c)}$" if IS_FORMULA.search(c) else c for c in row) for row in rows)


def latex(text: str) -> str:
    """Return a formula as LaTeX, by its MathML."""
    made = f"<math>{mathml(text)}</math>".replace("&nbsp;", "\u00a0")
    return re.sub(r"\} ~ \\text\{", " ", _tex(ET.fromstring(made)))  # words in one piece


def _tex(element: ET.Element) -> str:
    parts = [_tex(child) for child in element]
    text = element.text or ""
    match element.tag:
        case "mtext":
            return "~" if text == "\u00a0" else rf"\text{{{text}}}"
        case "mspace":
            return r"\,"
        case "mi" if text in FUNCTIONS:
            return rf"\operatorname{{{text}}}"
        case "mi" | "mn" | "mo":
            return SYMBOLS.get(text, text)
        case "mfrac":
            return r"\frac{{{}}}{{{}}}".format(*parts)
        case "msqrt":
            return rf"\sqrt{{{' '.join(parts)}}}"
        case "mover":
            return rf"\bar{{{parts[0]}}}"
        case "msup" if parts[1] == "′":
            return f"{parts[0]}'"
        case "munder":  # without braces: the index stands below the sign
            return "{}_{{{}}}".format(*parts)
        case "munderover":
            return "{}_{{{}}}^{{{}}}".format(*parts)
        case "msub":  # a function has its space as a second part
            return f"{{{' '.join(parts[:-1])}}}_{{{parts[-1]}}}"
        case "msup":
            return f"{{{' '.join(parts[:-1])}}}^{{{parts[-1]}}}"
        case "msubsup":
            return f"{{{' '.join(parts[:-2])}}}_{{{parts[-2]}}}^{{{parts[-1]}}}"
    inner = [*element]
    if element.tag == "mrow" and inner[0].tag == "mo" and inner[0].text in CLOSING:
        tall = (r"\left", r"\right") if inner[0].get("stretchy") is None else ("", "")
        middle = " ".join(parts[1:-1])
        return f"{tall[0]}{inner[0].text} {middle} {tall[1]}{inner[-1].text}"
    return " ".join(parts)


def mathml(text: str) -> str:
    """Return a formula as the content of a ``math`` element.

    A slash makes a fraction. Its numerator is the product to its left, from the last sum or product sign on; its
    denominator is the next factor, or the rest of the product after a sum sign, which then stands below the whole
    product to its left.

    >>> mathml("2 / x²")
    '<mfrac><mn>2</mn><msup><mi>x</mi><mn>2</mn></msup></mfrac>'
    """
    tokens = [token for token in TOKEN.findall(text) if token]
    return "".join(_Parser(tokens).terms(None))


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0

    def terms(self, end: str | None) -> list[str]:
        """Read up to the token ``end``, which is consumed."""
        made: list[str] = []
        start, first = 0, 0  # of the whole product, and of the numerator of a next fraction
        is_after_fraction = False
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token == end and not (token == "|" and self._is_condition()):
                self.at += 1
                return made
            if token == "/":
                self.at += 1
                self._skip()
                following = self.tokens[self.at] if self.at < len(self.tokens) else ""
                is_sum = following == "Σ"
                in_words = WORD.fullmatch(following) and following not in FUNCTIONS
                below = self._product(end) if is_sum or in_words else self._juxtaposed(end)
                begin = start if is_sum else first
                above = made[begin:]
                made[begin:] = [f"<mfrac>{_joined(above)}{_joined(below)}</mfrac>"]
                first, is_after_fraction = len(made), True
                continue
            made.append(self._atom())
            if token in PRODUCT_ENDS or token in "|":
                start = first = len(made)
            elif token in "ΣΠ∫" or (token == "·" and is_after_fraction):
                first, is_after_fraction = len(made), False
        return made

    def _product(self, end: str | None) -> list[str]:
        made = []
        while self.at < len(self.tokens) and (token := self.tokens[self.at]) not in PRODUCT_ENDS and token != end:
            if token == "/":
                break
            made.append(self._atom())
        return made

    def _juxtaposed(self, end: str | None) -> list[str]:
        """Read one factor: atoms without space between them."""
        made = []
        while self.at < len(self.tokens) and not (token := self.tokens[self.at]).isspace():
            if token == end or (token in PRODUCT_ENDS and made) or token in "·/":
                break
            made.append(self._atom())
        return made

    def _skip(self) -> None:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1

    def _is_condition(self) -> bool:
        """Whether the bar here stands between spaces, as in P(a | b), instead of around a number."""
        return 0 < self.at < len(self.tokens) - 1 and self.tokens[self.at + 1].isspace() and self._after_space()

    def _after_space(self) -> bool:
        return self.tokens[self.at - 1].isspace()

    def _atom(self) -> str:
        base = self._base()
        below = above = ""
        while self.at < len(self.tokens) and not base.isspace():
            token = self.tokens[self.at]
            if token[0] == "_":
                below = self._script(token)
            elif token[0] == "^":
                above = self._script(token)
            elif token in SUPERSCRIPTS:
                self.at += 1
                above = _leaf(SUPERSCRIPTS[token])
            elif "₀" <= token[0] <= "₉":
                self.at += 1
                below = f"<mn>{token.translate({ord(c): str(i) for i, c in enumerate('₀₁₂₃₄₅₆₇₈₉')})}</mn>"
            else:
                break
        name = "under" if base[4:5] in "ΣΠ" and base.startswith("<mo>") else "sub"
        if below and above:
            tag = "munderover" if name == "under" else "msubsup"
            return f"<{tag}>{base}{below}{above}</{tag}>"
        if below:
            return f"<m{name}>{base}{below}</m{name}>"
        return f"<msup>{base}{above}</msup>" if above else base

    def _script(self, token: str) -> str:
        self.at += 1
        if len(token) > 1:
            return _row_of(mathml(token[2:-1]))
        made = []
        if self.at < len(self.tokens) and self.tokens[self.at] == "(":
            self.at += 1
            return _row_of("".join(self.terms(")")))
        while self.at < len(self.tokens) and re.match(r"[\w\u0304']", self.tokens[self.at]):
            if token == "_" and self.tokens[self.at][0] in SUPERSCRIPTS:
                break
            if re.fullmatch("[a-z]{2,3}", self.tokens[self.at]):  # several indices
                made += [f"<mi>{letter}</mi>" for letter in self.tokens[self.at]]
                self.at += 1
            else:
                made.append(self._base() if token == "_" else self._atom())
        return _row_of("".join(made))

    def _base(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        if token == "√" and self.at < len(self.tokens) and self.tokens[self.at] == "(":
            self.at += 1
            return f"<msqrt>{''.join(self.terms(')'))}</msqrt>"
        if token == "|" and self.at < len(self.tokens) and self.tokens[self.at].isspace():
            return '<mo stretchy="false" lspace="0.25em" rspace="0.25em">|</mo>'
        if token.isspace():
            beside = self.tokens[max(self.at - 2, 0) : self.at + 1 : 2]
            is_in_words = any(WORD.fullmatch(other) and other not in FUNCTIONS for other in beside)
            return "<mtext>&nbsp;</mtext>" if is_in_words else " "
        if token in CLOSING:
            inside = "".join(self.terms(CLOSING[token]))
            tall = "" if "<mfrac>" in inside else ' stretchy="false"'
            return f"<mrow><mo{tall}>{token}</mo>{inside}<mo{tall}>{CLOSING[token]}</mo></mrow>"
        return _leaf(token)


def _leaf(token: str) -> str:
    if re.fullmatch(r"\d[\d.,]*|\.\d+|½|¼", token):
        return f"<mn>{token}</mn>"
    if token in FUNCTIONS:
        return f'<mi>{token}</mi><mspace width="0.17em"/>'
    if WORD.fullmatch(token):
        return f"<mtext>{token}</mtext>"
    if re.fullmatch(LETTER, token):
        over = f"<mover><mi>{token[0]}</mi><mo>¯</mo></mover>" if "\u0304" in token else f"<mi>{token[0]}</mi>"
        return f"<msup>{over}<mo>′</mo></msup>" if token.endswith("'") else over
    return f"<mo>{html.escape(token, quote=False)}</mo>"


def _joined(parts: list[str]) -> str:
    """Return one element; parentheses around the whole of a numerator or denominator go."""
    text = "".join(parts).strip()
    outer = re.fullmatch(r"<mrow><mo[^>]*>\(</mo>(.*)<mo[^>]*>\)</mo></mrow>", text)
    return _row_of(outer[1] if outer and len([*_elements(text)]) == 1 else text)


def _row_of(text: str) -> str:
    return text if len([*_elements(text)]) == 1 else f"<mrow>{text}</mrow>"


def _elements(text: str) -> Iterator[str]:
    """Yield the outermost elements."""
    depth = begin = 0
    for tag in re.finditer(r"<(/?)\w+[^>]*?(/?)>", text):
        begin = tag.start() if depth == 0 and not tag[1] else begin
        depth += 0 if tag[2] else -1 if tag[1] else 1
        if depth == 0:
            yield text[begin : tag.end()]


def _set(text: str) -> str:
    return f"<math>{mathml(text)}</math>" if IS_FORMULA.search(text) else html.escape(text, quote=False)


def _row(row: list[str], most: int) -> str:
    rest = most - len(row) + 1  # the last cell takes the columns that are left
    last = f'<td colspan="{rest}">' if rest > 1 else "<td>"
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in row[:-1])}{last}{row[-1]}</td></tr>"
