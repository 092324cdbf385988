"""Biases that read content: the fast way to all of their values is the same function, pair by pair."""

from dataclasses import replace

import pytest
import torch

import gnomon.products
from gnomon import pairs
from gnomon.content import Chosen, Product, key_lookup, query_lookup, total
from gnomon.pairs import dense, part, pointwise
from gnomon.products import BLOCK, products
from gnomon.rows import Diagonal
from gnomon.skew import by_diagonal, of_diagonals
from tests.core.common import gap, normal

ROWS, HEADS, KV_HEADS, WIDTH = 2, 6, 3, 8
SIZES = [(5, 5), (3, 7), (7, 3), (1, 9), (9, 1), (20, BLOCK + 30)]


def lookups(queries: int, keys: int, rows: torch.Tensor | None, table_rows: int):
    table = normal(HEADS, table_rows, WIDTH, seed=3)
    row = Diagonal(queries, keys, rows)
    q, k = normal(ROWS, HEADS, queries, WIDTH, seed=1), normal(ROWS, KV_HEADS, keys, WIDTH, seed=2)
    return q, k, table, query_lookup(q, table, row), key_lookup(k, table, row)


@pytest.mark.parametrize("named", [False, True], ids=["a row each", "rows by name"])
@pytest.mark.parametrize("queries, keys", SIZES)
def test_by_diagonals_as_pair_by_pair(queries: int, keys: int, named: bool):
    diagonals = queries + keys - 1
    rows = torch.arange(diagonals) * 7 % 5 if named else None
    q, k, table, of_query, of_key = lookups(queries, keys, rows, 5 if named else diagonals)
    i, j = torch.arange(queries)[:, None], torch.arange(keys)
    row = j - i + queries - 1 if rows is None else rows[j - i + queries - 1]
    every_key = k.repeat_interleave(HEADS // KV_HEADS, dim=1)
    expected = (
        torch.einsum("bhid,hijd->bhij", q, table[:, row]),
        torch.einsum("bhjd,hijd->bhij", every_key, table[:, row]),
    )
    grid = torch.arange(ROWS)[:, None, None, None], torch.arange(HEADS)[:, None, None], i, j
    for lookup, right in zip((of_query, of_key), expected, strict=True):
        other = replace(lookup, row=lambda b, h, i, j: row[i, j])
        for found in (dense(lookup, ROWS, HEADS, queries, keys), dense(other, ROWS, HEADS, queries, keys)):
            assert gap(found, right) < 1e-14
        assert gap(lookup(*grid), right) < 1e-14 and gap(pointwise(lookup)(*grid), right) < 1e-14
    x, y = normal(1, 1, queries, 4, seed=4), normal(1, 1, keys, 4, seed=5)
    both = total(of_query, of_key, Product(x, y))
    right = sum(expected) + x @ y.mT
    assert gap(dense(both, ROWS, HEADS, queries, keys), right) < 1e-14
    assert gap(pointwise(both)(*grid), right) < 1e-14
    mixed = total(of_query, lambda b, h, i, j: 0.5 * (i - j))
    assert gap(dense(mixed, ROWS, HEADS, queries, keys), expected[0] + 0.5 * (i - j)) < 1e-14


@pytest.mark.parametrize("some, others", [((0, 4), (0, 9)), ((2, 5), (3, 4)), ((6, 7), (0, 1)), ((1, 7), (2, 9))])
def test_a_part_is_that_of_the_whole(some: tuple[int, int], others: tuple[int, int]):
    queries, keys = 7, 9
    for named in (False, True):
        diagonals = queries + keys - 1
        rows = torch.arange(diagonals) * 7 % 5 if named else None
        *_, of_query, of_key = lookups(queries, keys, rows, 5 if named else diagonals)
        x, y = normal(ROWS, HEADS, queries, 4, seed=4), normal(1, 1, keys, 4, seed=5)
        odd = Chosen(lambda b, h, i, j: (i + 2 * j) % 3 == 0, of_query, Product(x, y), x.device)
        by_rows = replace(of_key, row=lambda b, h, i, j: (i + j) % 5)
        plain = lambda b, h, i, j: 0.5 * i - j + h  # noqa: E731
        for pair in (of_query, of_key, odd, by_rows, Chosen(lambda b, h, i, j: i > j, of_key, None, x.device), plain):
            both = total(pair, of_key, of_query)
            for whole in (pair, both):
                a, b = slice(*some), slice(*others)
                cut = part(whole, a, b)
                sizes = ROWS, HEADS, a.stop - a.start, b.stop - b.start
                expected = dense(whole, ROWS, HEADS, queries, keys)[..., a, b]
                grid = (torch.arange(size).reshape(-1, *[1] * (3 - at)) for at, size in enumerate(sizes))
                assert gap(dense(cut, *sizes), expected) < 1e-14
                assert gap(pointwise(cut)(*grid).expand_as(expected), expected) < 1e-14


@pytest.mark.parametrize("queries, keys", SIZES)
def test_values_are_laid_out_by_diagonals_and_gradients_come_back(queries: int, keys: int):
    values = normal(ROWS, HEADS, queries, keys).requires_grad_()
    laid = by_diagonal(values)
    i, j = torch.arange(queries)[:, None], torch.arange(keys)
    assert laid.shape == (ROWS, HEADS, queries, queries + keys - 1)
    assert torch.equal(laid[..., i, j - i + queries - 1], values)
    assert laid.count_nonzero() == values.count_nonzero()
    weight = normal(*laid.shape, seed=5)
    (laid * weight).sum().backward()
    assert torch.equal(values.grad, weight[..., i, j - i + queries - 1])


def test_gradients_of_a_lookup():
    for queries, keys in ((4, 6), (6, 4)):
        q, k, table, *_ = lookups(queries, keys, None, queries + keys - 1)
        row = Diagonal(queries, keys)

        def both(q, k, table):
            made = total(query_lookup(q, table, row), key_lookup(k, table, row))  # noqa: B023
            return dense(made, ROWS, HEADS, queries, keys)  # noqa: B023

        inputs = [t[:1].clone().requires_grad_() if t.dim() == 4 else t.clone().requires_grad_() for t in (q, k, table)]
        assert torch.autograd.gradcheck(both, inputs, fast_mode=True)


@pytest.mark.parametrize("queries, keys", [(0, 3), (3, 0), (1, 1), (70, 40)])
def test_all_values_by_parts(queries, keys, monkeypatch):
    """In memory of one's own, also where a function gives the same for all queries, or keeps what it gives."""
    monkeypatch.setattr(pairs, "AT_ONCE", 300)
    kept = torch.randn(2, 3, 1, keys)
    for pair in (lambda b, h, i, j: 0.5 * i - j + h + b, lambda b, h, i, j: kept):
        b, h = torch.arange(2)[:, None, None, None], torch.arange(3)[:, None, None]
        expected = pair(b, h, torch.arange(queries)[:, None], torch.arange(keys)).expand(2, 3, queries, keys)
        with torch.no_grad():
            found = pairs.filled(pair, 2, 3, queries, keys)
            found.add_(0.0)
            assert torch.equal(found, expected) and torch.equal(dense(pair, 2, 3, queries, keys) + 0 * found, expected)
        assert found.data_ptr() != kept.data_ptr() or not found.numel()


@pytest.mark.parametrize("heads", [1, HEADS], ids=["one table", "a table a head"])
@pytest.mark.parametrize("some", [(0, 15), (4, 7), (0, 1), (14, 15), (9, 15)], ids=str)
def test_products_with_the_diagonals_that_differ(some: tuple[int, int], heads: int, monkeypatch):
    """All before have the row of the first, all after that of the last; by blocks of rows, with both derivatives."""
    n, columns, few = 6, 10, slice(*some)
    monkeypatch.setattr(gnomon.products, "BLOCK", 4)
    x, table = normal(1, HEADS, n, 3).requires_grad_(), normal(heads, some[1] - some[0], 3, seed=1).requires_grad_()
    diagonal = torch.arange(columns) - torch.arange(n)[:, None] + n - 1
    row = diagonal.clamp(some[0], some[1] - 1) - some[0]
    expected = torch.einsum("bhid,hijd->bhij", x, table[:, row].expand(HEADS, -1, -1, -1))
    found = products(x, table, few, columns)
    assert gap(found, expected) < 1e-14
    weight = normal(*found.shape, seed=2)
    got, right = (torch.autograd.grad((value * weight).sum(), [x, table]) for value in (found, expected))
    assert all(gap(one, other) < 1e-13 for one, other in zip(got, right, strict=True))
    assert torch.autograd.gradgradcheck(lambda x, table: products(x, table, few, columns), (x, table), fast_mode=True)


def test_a_matrix_of_diagonals_and_its_gradient():
    table, (n, m) = normal(2, 8).requires_grad_(), (3, 6)
    diagonal = torch.arange(m) - torch.arange(n)[:, None] + n - 1
    found, weight = of_diagonals(table, n), normal(2, n, m, seed=1)
    assert torch.equal(found, table[:, diagonal])
    got, right = (torch.autograd.grad((value * weight).sum(), table)[0] for value in (found, table[:, diagonal]))
    assert gap(got, right) < 1e-14
    assert torch.autograd.gradgradcheck(lambda table: of_diagonals(table, n), table)
