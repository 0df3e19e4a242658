#!/usr/bin/env python3
"""Finds import cycles between the modules of a crate, and counts the imports that point up.

usage: circles.py [--list] [--renew]

A module is a file. An import is a path that begins with `crate`, `self` or `super`; a re-exported item belongs to the module that
defines it. Imports between a module and its ancestors do not count. A circle is a strongly connected component of a crate's modules.
Imports that point up are the fewest imports between a crate's top modules (files and folders) whose removal leaves no cycle. Tests are
not read. circle-members.json limits the modules in circles, arrows-up.json the imports that point up; both may only decrease.
"""
import re
import sys
from collections import defaultdict

import workspace

START = re.compile(r"(?<![\w:$])(?:crate|self|super)::(?=[\w{*])")
HEAD = re.compile(r"(?:\w+::)*")
WORD = re.compile(r"\w+")
USE = re.compile(r"^\s*(?:pub(?:\([\w: ]+\))?\s+)?use\s+([^;]+);", re.M)


def paths(text, at):
    """Paths of the tree of imports at an offset, each a list of names."""
    head = HEAD.match(text, at)
    prefix, at = head.group().split("::")[:-1], head.end()
    if at < len(text) and text[at] == "{":
        depth, begin = 0, at + 1
        for place in range(at, len(text)):
            letter = text[place]
            depth += (letter == "{") - (letter == "}")
            if depth == 0 or (depth == 1 and letter == ","):
                part = text[begin:place].strip()
                begin = place + 1
                if part:
                    yield from ([*prefix, *path] for path in paths(part + " ", 0))
            if depth == 0:
                return
    else:
        word = WORD.match(text, at)
        yield prefix + ([word.group()] if word else [])


class Crate:
    """Modules of a crate, and their imports from each other."""

    def __init__(self, folder):
        self.files, self.texts, self.exported = {}, {}, {}
        for file in workspace.sources(folder):
            parts = file.relative_to(folder / "src").with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            if module in self.files and parts[-1] == "main":
                continue
            self.files[module] = workspace.place(file)
            self.texts[module] = workspace.code(file, strings=False)
        for module, text in self.texts.items():
            self.exported[module] = {}
            for use in USE.finditer(text):
                for path in paths(re.sub(r"\s+as\s+\w+", "", use.group(1)) + " ", 0):
                    target = self.absolute(module, path)
                    if target is not None:
                        self.exported[module][path[-1]] = target
        self.imports = {module: self.read(module) for module in self.files}

    def absolute(self, module, path):
        """The path from the root of the crate; `None` for another crate."""
        # A path that begins with `::` has no first word.
        if not path:
            return None
        if path[0] == "crate":
            return (*path[1:],)
        if path[0] == "self":
            return (*module, *path[1:])
        up = 0
        while up < len(path) and path[up] == "super":
            up += 1
        if up:
            return (*module[:len(module) - up], *path[up:])
        return (*module, *path) if (*module, path[0]) in self.files else None

    def module_of(self, path):
        """Module that defines the item of a path."""
        for _ in range(9):
            known = path
            while known not in self.files:
                known = known[:-1]
            rest = path[len(known):]
            target = self.exported[known].get(rest[0]) if rest else None
            if target is None or target[:len(known) + 1] == path[:len(known) + 1]:
                return known
            path = (*target, *rest[1:])
        return known

    def read(self, module):
        text, found = self.texts[module], defaultdict(set)
        for start in START.finditer(text):
            for path in paths(text, start.start()):
                target = self.absolute(module, path)
                other = self.module_of(target)
                if other[:len(module)] != module and module[:len(other)] != other:
                    found[other].add(path[-1])
        return found


def components(nodes, edges):
    """Strongly connected components of several nodes (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            members = []
            while not members or members[-1] != node:
                members.append(stack.pop())
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(nodes):
        if node not in number:
            visit(node)
    return found


def pointing_up(nodes, edges):
    """The least set of edges that point up in an order of the nodes, by dynamic programming over subsets."""
    nodes = sorted(nodes)
    uses = [sum(1 << nodes.index(other) for other in edges[node] if other in nodes) for node in nodes]
    full = (1 << len(nodes)) - 1
    best, choice = [0] * (full + 1), [0] * (full + 1)
    for below in range(1, full + 1):
        best[below] = len(nodes) ** 2
        for last in range(len(nodes)):
            if below >> last & 1:
                rest = below & ~(1 << last)
                # `last` is the highest in `below`: the others' edges to it point up.
                cost = best[rest] + sum(uses[node] >> last & 1 for node in range(len(nodes)) if rest >> node & 1)
                if cost < best[below]:
                    best[below], choice[below] = cost, last
    up, below = [], full
    while below:
        last = choice[below]
        below &= ~(1 << last)
        up += [(nodes[node], nodes[last]) for node in range(len(nodes)) if below >> node & 1 and uses[node] >> last & 1]
    return up


def main():
    sys.setrecursionlimit(10_000)
    arguments = workspace.arguments()
    circles, members, tied, up, upwards = 0, {}, {}, {}, {}
    for name, folder in workspace.crates().items():
        crate = Crate(folder)
        found = components(crate.files, crate.imports)
        circles += len(found)
        members[name] = sum(map(len, found))
        tied[name] = []
        for circle in found:
            tied[name].append("circle of " + ", ".join(crate.files[member] for member in circle))
            for one in circle if "--list" in arguments else ():
                tied[name] += [f"    {crate.files[one]} -> {crate.files[other]}: {', '.join(sorted(crate.imports[one][other]))}"
                               for other in circle if other in crate.imports[one]]
        top = defaultdict(set)
        for module, others in crate.imports.items():
            for other in others:
                top[module[0]].add(other[0])
        up[name], upwards[name] = 0, []
        for circle in components(list(top), top):
            for below, above in pointing_up(circle, top):
                up[name] += 1
                files = sorted(crate.files[module] for module, others in crate.imports.items()
                               if module and module[0] == below and any(other and other[0] == above for other in others))
                upwards[name].append(f"{below} -> {above}: {', '.join(files)}")
    well = workspace.ratchet("arrows-up", up, upwards, arguments, "no import may point up")
    print(f"circles: {circles} in the workspace")
    well &= workspace.ratchet("circle-members", members, tied, arguments, "modules may not import each other in a circle")
    sys.exit(not well)


if __name__ == "__main__":
    main()
