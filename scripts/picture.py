#!/usr/bin/env python3
"""The first plot of a report page as a picture of its own: scripts/picture.py REPORT.html > docs/images/demo.svg"""

import re
import sys



def refuse(sentence):
    print(f"picture: {sentence}", file=sys.stderr)
    sys.exit(2)


if len(sys.argv) != 2:
    refuse("one argument is taken, the report.html of a comparison")
try:
    page = open(sys.argv[1], encoding="utf-8").read()
except (OSError, UnicodeDecodeError) as error:
    refuse(f"{sys.argv[1]} cannot be read: {error}")
if "<h2 id=\"part-2\">" not in page or "<svg class=\"plot\"" not in page:
    refuse(f"{sys.argv[1]} has no plot of latencies; take the report.html of a comparison")
figure = page[page.index('<figure', page.index("<h2 id=\"part-2\">")):]
legend = re.findall(r'<span class="key (s\d)"[^>]*>.*?</svg> (.*?)</span>', figure[: figure.index('class="plots"')])
plot = re.search(r"<svg class=\"plot\".*?</svg>", figure, re.S).group(0)
style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
# The first declaration of each variable is that of a light page.
colours = dict(reversed(re.findall(r"(--[\w-]+): ([^;}]+);", style)))
colours.pop("--c", None)
rules = [rule.strip() for rule in re.findall(r"[^{}]+\{[^{}]*\}", style) if re.match(r"\s*(svg|\.|text|g\b)", rule)]
rules = [rule for rule in rules if re.search(r"\.(s\d|line|floor|grid|axis|reference|demand|level|label|plot|range|tx|ty)\b|svg|text", rule)]
css = re.sub(r"var\((--(?!c\b)[\w-]+)\)", lambda found: colours.get(found.group(1), "#222"), "\n".join(rules))
width, height = (int(re.search(rf'{key}="(\d+)"', plot).group(1)) for key in ("width", "height"))
keys, x = [], 12
for series, name in legend:
    keys.append(f'<g class="{series}"><line class="line" x1="{x}" x2="{x + 26}" y1="14" y2="14"/></g>'
                f'<text x="{x + 32}" y="18">{name}</text>')
    x += 42 + 6 * len(name)
inner = re.sub(r"^<svg[^>]*>|</svg>$", "", plot)
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 24}" width="{2 * width}" height="{2 * height + 48}" '
      f'role="img" font-family="sans-serif" font-size="12" fill="#222">\n<style>{css}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n'
      f'{"".join(keys)}\n<g transform="translate(0 24)">{inner}</g>\n</svg>')
