"""Hashes and addresses as a page shows them."""

from django import template

from accounts.wallets import shortened

register = template.Library()
register.filter(shortened)
